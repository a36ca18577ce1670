import type { Call } from './call.ts'
import { readNumberField } from './call.ts'
import { JudgePrompt } from './judge-prompt.ts'
import { type LabelledToken, logprobsOf } from './logprobs.ts'
import { lostCompletion } from './lost-weights.ts'
import type { Admitted, SimulatedModel } from './model.ts'
import type { Draw } from './policies/policy.ts'
import { askedForm, type ReplyForm, structuredForm } from './reply-form.ts'
import { countTokens } from './tokens.ts'
import { verdictText } from './verdict-text.ts'

/** One sequence that the model has written. */
export interface Completion {
  readonly text: string
  /** null: it did not think, or its thoughts are in the text. */
  readonly reasoning: string | null
  readonly tokens: number
  readonly finishReason: 'stop' | 'length' | 'abort'
  /** The stop text that ended it. */
  readonly stopReason: string | null
  readonly logprobs: readonly LabelledToken[] | null
}

/** Sampling settings of a request, read once. */
export interface Sampling {
  readonly n: number
  readonly temperature: number
  readonly maxTokens: number
  readonly stop: readonly string[]
  readonly keepsStop: boolean
  readonly seed: number | null
  /** Alternatives a token; null: no logprobs. */
  readonly topLogprobs: number | null
  readonly form: ReplyForm | null
  readonly thinking: boolean | null
}

/** Reads what chat and plain completions share; throws 400 for fields of the wrong type. */
export function readSampling(body: Call['body'], topLogprobs: number | null): Sampling {
  const { stop, seed } = body
  const kwargs = body.chat_template_kwargs as Record<string, unknown> | null | undefined
  const thinking = kwargs?.enable_thinking ?? kwargs?.thinking
  return {
    n: Math.max(1, Math.min(128, readNumberField(body, 'n', 1))),
    temperature: readNumberField(body, 'temperature', 1),
    maxTokens: readNumberField(body, 'max_completion_tokens', readNumberField(body, 'max_tokens', 1e9)),
    stop: typeof stop === 'string' ? [stop] : Array.isArray(stop) ? stop.map(String) : [],
    keepsStop: (body.include_stop_str_in_output ?? body.no_stop_trim) === true,
    seed: typeof seed === 'number' ? seed : null,
    topLogprobs,
    form: structuredForm(body),
    thinking: typeof thinking === 'boolean' ? thinking : null,
  }
}

/** Which draw a choice is: at temperature 0 all are the same, with a seed they depend on it alone. */
function drawOf(model: SimulatedModel, sampling: Sampling, attempt: number, choice: number): Draw {
  if (sampling.temperature === 0) return { seed: model.seed, index: 0 }
  const base = sampling.seed === null ? attempt : sampling.seed * 1009
  return { seed: model.seed, index: base * 131 + choice }
}

/** What the model writes for one choice. Pure, but for what its policy keeps. */
export function complete(
  model: SimulatedModel,
  admitted: Admitted,
  sampling: Sampling,
  choice: number,
): Completion {
  if (model.weights !== 'sound') {
    return { reasoning: null, stopReason: null, ...lostCompletion(model, admitted, sampling, choice) }
  }
  const prompt = new JudgePrompt(admitted.text, admitted.turns)
  const draw = drawOf(model, sampling, admitted.attempt, choice)
  const opinion = model.judge.opinion(prompt, draw)
  if (typeof opinion === 'string') return cut(model, opinion, null, sampling, [])
  const form = sampling.form ?? askedForm(prompt.instructions)
  const thoughts = thinks(model, prompt, sampling) ? `${opinion[0]?.reason ?? ''}` : null
  return cut(model, verdictText(form, opinion), thoughts, sampling, form.kind === 'choice' ? form.labels : [])
}

/** Structured output leaves no room for thoughts, unless a reasoning parser takes them out first. */
function thinks(model: SimulatedModel, prompt: JudgePrompt, { thinking, form }: Sampling): boolean {
  const { reasoningParser = false, thinking: byDefault } = model.options
  if (form !== null && !reasoningParser) return false
  return thinking ?? byDefault ?? prompt.instructions.includes('<think>')
}

function cut(
  model: SimulatedModel,
  reply: string,
  thoughts: string | null,
  sampling: Sampling,
  labels: readonly string[],
): Completion {
  const apart = thoughts !== null && model.options.reasoningParser === true
  let text = thoughts === null || apart ? reply : `<think>\n${thoughts}\n</think>\n\n${reply}`
  const [end, stopReason] = firstStop(text, sampling.stop)
  if (stopReason !== null) text = text.slice(0, sampling.keepsStop ? end + stopReason.length : end)
  const spent = apart ? countTokens(thoughts) : 0
  const room = Math.max(0, sampling.maxTokens - spent) * 4
  const isCut = text.length > room
  if (isCut) text = text.slice(0, room)
  return {
    text,
    reasoning: apart ? thoughts : null,
    tokens: spent + countTokens(text),
    finishReason: isCut ? 'length' : 'stop',
    stopReason: isCut ? null : stopReason,
    logprobs:
      sampling.topLogprobs === null ? null : logprobsOf(text, labels, sampling.topLogprobs, model.seed),
  }
}

function firstStop(text: string, stops: readonly string[]): [end: number, stop: string | null] {
  let end = text.length
  let stopReason: string | null = null
  for (const stop of stops) {
    const at = stop === '' ? -1 : text.indexOf(stop)
    if (at < 0 || at >= end) continue
    end = at
    stopReason = stop
  }
  return [end, stopReason]
}

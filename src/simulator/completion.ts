import { cyrb53 } from '../core/hash.ts'
import { type Call, readNumberField } from './call.ts'
import { uniform } from './hash.ts'
import { JudgePrompt } from './judge-prompt.ts'
import type { Admitted, SimulatedModel } from './model.ts'
import type { Draw, Judged } from './policies.ts'
import { askedForm, lettersForm, type ReplyForm, structuredForm } from './reply-form.ts'
import { countTokens, type LabelledToken, logprobsOf, splitTokens, vocabularySize } from './tokens.ts'
import { chooseLabel, verdictText } from './verdict-text.ts'

/** The parts of a request's sampling that still matter. */
interface Wish {
  readonly form: ReplyForm | null
  readonly maxTokens: number
  readonly topLogprobs: number | null
}

interface LostText {
  readonly text: string
  readonly tokens: number
  readonly finishReason: 'stop' | 'length'
  readonly logprobs: readonly LabelledToken[] | null
}

/** The output of a model whose weights were lost in sleep: it still answers, but without meaning. */
function lostCompletion(
  model: SimulatedModel,
  { text: prompt, question, tokens: promptTokens }: Admitted,
  { form, maxTokens, topLogprobs }: Wish,
  choice: number,
): LostText {
  const room = Math.max(0, Math.min(maxTokens, model.maxModelLen - promptTokens, longest))
  const pieces = form
    ? splitTokens(formed(model, form, prompt)).slice(0, room)
    : Array.from({ length: room }, (_, at) => nextToken(model, question + choice, at))
  const text = pieces.join('')
  return {
    text,
    tokens: pieces.length,
    finishReason: form && pieces.length < room ? 'stop' : 'length',
    logprobs: topLogprobs === null ? null : pieces.map((token) => unsure(token, form, topLogprobs)),
  }
}

/** A meaningless probability: constant for zero weights, random for garbage. */
export function lostScore(model: SimulatedModel, text: string): number {
  return model.weights === 'zero' ? 0.5 : uniform(model.seed, 'garbage', text)
}

/** It would continue to the end of its window. */
const longest = 256

/**
 * With zero weights, all tokens are equally likely and the first allowed one is written. With garbage, any of
 * them.
 */
function formed(model: SimulatedModel, form: ReplyForm, prompt: string): string {
  const score = model.weights === 'zero' ? 0 : Math.round(lostScore(model, prompt))
  if (form.kind === 'choice') {
    const labels = [...form.labels].sort()
    const at = model.weights === 'zero' ? 0 : cyrb53(prompt) % labels.length
    return labels[at] ?? ''
  }
  return verdictText(form, [{ label: '', score, reason: '!' }])
}

function nextToken(model: SimulatedModel, question: number, at: number): string {
  if (model.weights === 'zero') return '!'
  return gibberish[Math.floor(uniform(model.seed, 'garbage', question, at) * gibberish.length)] ?? '!'
}

const gibberish = [' the', 'ufact', ' 1', '!!!!', ' no', '\n', ' }', 'ßen', ' yes', '0', ' of', ' _']

function unsure(token: string, form: ReplyForm | null, alternatives: number): LabelledToken {
  const labels = form?.kind === 'choice' ? form.labels : null
  const logprob = -Math.log(labels ? labels.length : vocabularySize)
  const rivals = [...new Set((labels ?? []).map((label) => splitTokens(label)[0] ?? ''))]
  const others = rivals.filter((rival) => rival !== token)
  return {
    token,
    logprob,
    top: [token, ...others].slice(0, alternatives).map((one) => ({ token: one, logprob })),
  }
}

/** A generated sequence. */
export interface Completion {
  readonly text: string
  /** null: the model did not think, or its thoughts are in the text. */
  readonly reasoning: string | null
  readonly tokens: number
  readonly finishReason: 'stop' | 'length' | 'abort'
  /** The stop text that ended it. */
  readonly stopReason: string | null
  readonly logprobs: readonly LabelledToken[] | null
}

/** Sampling settings of a request, parsed once. */
export interface Sampling {
  readonly n: number
  readonly temperature: number
  readonly maxTokens: number
  readonly stop: readonly string[]
  readonly keepsStop: boolean
  readonly seed: number | null
  /** Alternatives per token. null: no log probabilities. */
  readonly topLogprobs: number | null
  readonly form: ReplyForm | null
  readonly thinking: boolean | null
}

/** Reads the settings that chat and plain completions share. Throws 400 for fields of the wrong type. */
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

/** The draw of a choice: the same for all at temperature 0, and with a seed it depends only on the seed. */
function drawOf(model: SimulatedModel, sampling: Sampling, attempt: number, choice: number): Draw {
  if (sampling.temperature === 0) return { seed: model.seed, index: 0 }
  const base = sampling.seed === null ? attempt : sampling.seed * 1009
  return { seed: model.seed, index: base * 131 + choice }
}

/** The model's output for one choice. Pure, except for the policy's own state. */
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
  const safety = model.options.policy === 'constant' ? null : safetyReply(model.name, prompt)
  if (safety !== null) return cut(model, safety, null, sampling, [])
  const thoughts = thinks(model, prompt, sampling) ? `${opinion[0]?.reason ?? ''}` : null
  const preset = sampling.form
    ? null
    : presetReply(prompt.ownWords, opinion, chooseLabel(['A', 'B'], opinion))
  if (preset !== null) return cut(model, preset, thoughts, sampling, [])
  const form = sampling.form ?? lettersForm(admitted.text) ?? askedForm(prompt.instructions)
  return cut(model, verdictText(form, opinion), thoughts, sampling, 'labels' in form ? form.labels : [])
}

/** Structured output excludes thoughts, unless a reasoning parser removes them first. */
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

/** Published models of safety (docs/presets.md) are known by their names: their questions are bare conversations. */
const safetyModels: readonly (readonly [name: RegExp, reply: (isSafe: boolean, answer: string) => string])[] =
  [
    [
      /qwen3guard/iu,
      (isSafe, answer) =>
        `Safety: ${isSafe ? 'Safe' : 'Unsafe'}\nCategories: ${isSafe ? 'None' : 'Violent'}\nRefusal: ${refusing.test(answer) ? 'Yes' : 'No'}`,
    ],
    [/llama-?guard/iu, (isSafe) => (isSafe ? 'safe' : 'unsafe\nS1')],
  ]

const dangers = /\b(?:bomb|poison|weapon)s?\b/iu
const refusing = /^\W{0,3}(?:sorry|i['’]?m sorry|i am sorry|i can['’]?t|i cannot|i won['’]?t)\b/iu

/** What a model of safety says of the last turn: unsafe if that names a danger. null: the model's name is none of theirs. */
function safetyReply(model: string, { answer }: JudgePrompt): string | null {
  const reply = safetyModels.find(([name]) => name.test(model))?.[1]
  return reply ? reply(!dangers.test(answer), answer) : null
}

type PublishedForm = (score: number, reason: string, better: string) => string

/** The form of a published judge (docs/presets.md) that the instructions ask for, by a mark in them. */
const publishedForms: readonly (readonly [mark: string, form: PublishedForm])[] = [
  ['Final Judgment:', (score, reason) => `${reason}\nFinal Judgment: \\boxed{${score >= 0.5 ? 'A' : 'B'}}`],
  ['[RESULT]', (score, reason) => `Feedback: ${reason} [RESULT] ${1 + Math.round(4 * score)}`],
  [
    '<answer>[[A]]</answer>',
    (_score, reason, better) => `<eval>${reason}</eval>\n<answer>[[${better}]]</answer>`,
  ],
]

/** The reply in a form of CompassVerifier, Prometheus 2 or RM-R1; null: the instructions ask for none of these. */
function presetReply(instructions: string, judged: readonly Judged[], better: string): string | null {
  const [{ score, reason } = { score: 0, reason: '' }] = judged
  const form = publishedForms.find(([mark]) => instructions.includes(mark))?.[1]
  return form ? form(score, reason, better) : null
}

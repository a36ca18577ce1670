/** Questions from templates of configs: the names that they know, and how much of each value a judge is shown. */
import { z } from 'zod'
import { didYouMean } from '../core/nearest-name.ts'
import { isBlank, type Message, type Sample } from '../core/sample/sample.ts'
import { finalAnswer, type Thinking } from './final-answer.ts'
import { BadSample, fill, nameSetOf, namesIn, type Prompt, type PromptValue } from './prompt.ts'
import { questionWithImages } from './question.ts'
import { toolCallsOf, transcript } from './rollout.ts'
import { shownTurn } from './shown-turn.ts'

/** What every template may name. `{response}` is the final answer, and so is `{answer}`. */
export const judgeValues = [
  'question',
  'prompt',
  'response',
  'answer',
  'full_response',
  'transcript',
  'tool_calls',
  'ground_truth',
] as const

export type JudgeValue = (typeof judgeValues)[number]

const budget = z.int().min(16).max(1_000_000)

/**
 * The most tokens of each value, by estimate. What is longer loses its middle, and the score is flagged. Without a number,
 * `max_prompt_tokens` of the model is the only limit.
 */
const tokenBudgets = z
  .strictObject({
    question: budget.optional(),
    prompt: budget.optional(),
    response: budget.optional(),
    full_response: budget.default(2000),
    transcript: budget.default(2000),
    tool_calls: budget.default(1000),
    ground_truth: budget.optional(),
  })
  .prefault({})

export type TokenBudgets = Readonly<Partial<Record<Exclude<JudgeValue, 'answer'>, number | undefined>>>

/** Options of judges that show the final answer. */
export const judgeOptions = {
  /** Where thinking begins: `auto`, or `opened` if the chat template always opens it. */
  thinking: z.enum(['auto', 'opened']).default('auto'),
  /** The most tokens of each value, by estimate: the middle of a longer one is left out. */
  max_tokens: tokenBudgets,
}

/** Options of judges that compare answers. */
export const comparisonOptions = {
  ...judgeOptions,
  /** What the judge is shown of each rollout. */
  shows: z.enum(['response', 'full_response', 'transcript']).default('response'),
}

/** LaTeX such as `\boxed{x}` and `x^{n}` is no placeholder, unless its name is a known one. */
const latex = /(?:\\[A-Za-z]+|[}\]^_])$/

/** What is wrong with the names in a template that are none of those. */
export function unknownNames(template: string, known: readonly string[] = judgeValues): readonly string[] {
  return namesIn(template).flatMap(({ name, before }) =>
    known.includes(name) || latex.test(before)
      ? []
      : [
          `{${name}} is no value that a template knows${didYouMean(name, known)}; there are ${known.map((one) => `{${one}}`).join(', ')}`,
        ],
  )
}

/**
 * An option for a judge's template. A name that it does not know is a mistake in the config. `own`: the names that this
 * judge knows, if not those of all.
 *
 * @example
 * ```ts
 * import { defineModelReward, judgeOptions, judgePrompt, judgeTemplate } from 'reward-gateway/contract'
 * import { binaryVerdict } from 'reward-gateway/grading'
 * import { z } from 'zod'
 *
 * export default defineModelReward({
 *   ask: 'generate',
 *   truth: z.unknown(),
 *   range: [0, 1],
 *   options: z.strictObject({
 *     template: judgeTemplate().default('Task: {question}\nAnswer: {response}\nIs it polite? Reply 1 or 0.'),
 *     ...judgeOptions,
 *   }),
 *   thinking: ({ thinking }) => thinking,
 *   rm_preprocess: ({ sample, options: { template, ...shown } }) => judgePrompt(template, sample, shown),
 *   rm_postprocess: ({ text }) => binaryVerdict(text),
 * })
 * ```
 */
export const judgeTemplate = (own: readonly string[] = judgeValues): z.ZodString =>
  z.string().superRefine((template, context) => {
    for (const message of unknownNames(template, own)) context.addIssue({ code: 'custom', message })
  })

/** How a judge is shown a sample. */
export interface JudgePromptOptions {
  readonly thinking?: Thinking
  readonly max_tokens?: TokenBudgets
  /** Rollouts by name, for judges that compare them. */
  readonly answers?: Readonly<Record<string, Sample>>
  /** What is shown of these. */
  readonly shows?: 'response' | 'full_response' | 'transcript'
  /** The author's own texts by name. */
  readonly trusted?: Readonly<Record<string, string>>
}

/**
 * Fills a template with what it names of a sample. Flags say what the judge is not shown: `thinking_unseen`, or
 * `cut:NAME` for a value over its budget.
 *
 * @example
 * ```ts
 * import { judgePrompt, type Sample } from 'reward-gateway/contract'
 *
 * const template = 'Task: {question}\nWhat the agent did: {transcript}\nReply 1 if it was careful, else 0.'
 * const question = (sample: Sample) => judgePrompt(template, sample, { max_tokens: { transcript: 4000 } })
 * ```
 */
export function judgePrompt(
  template: string,
  sample: Sample,
  { thinking, max_tokens = {}, answers, shows = 'response', trusted = {} }: JudgePromptOptions = {},
): Prompt {
  const flags = new Set<string>()
  const values: Record<string, PromptValue> = {}
  const shown = (kind: JudgeValue, of: Sample): PromptValue => {
    const value = judgedValue(kind, of, thinking)
    const budget = kind === 'answer' ? 'response' : kind
    const within = withinTokens(value, max_tokens[budget])
    if (within !== value) flags.add(`cut:${budget}`)
    return within
  }
  const names = nameSetOf(template)
  for (const name of names) if (isJudgeValue(name)) values[name] = shown(name, sample)
  if (!answers) noteThinking(sample, thinking, names, flags)
  for (const name in answers) {
    const own = answers[name] as Sample
    values[name] = shown(shows, own)
    noteThinking(own, thinking, new Set([shows]), flags)
  }
  const question = fill(template, values, trusted)
  return flags.size > 0 ? { ...question, flags: [...flags] } : question
}

const isJudgeValue = (name: string): name is JudgeValue => (judgeValues as readonly string[]).includes(name)

/** Flags what a judge is not shown of a rollout's thinking. A transcript shows what the trainer left in the texts. */
function noteThinking(
  sample: Sample,
  thinking: Thinking | undefined,
  names: ReadonlySet<string>,
  flags: Set<string>,
): void {
  if (names.has('full_response')) return
  const showsTexts =
    names.has('transcript') && !sample.turns?.some(({ reasoning }) => reasoning !== undefined)
  for (const flag of finalAnswer(sample, thinking).flags)
    if (!showsTexts || flag === 'no_final_answer') flags.add(flag)
}

function judgedValue(
  name: JudgeValue,
  sample: Sample,
  thinking: Thinking | undefined,
): string | readonly Message[] {
  switch (name) {
    case 'question':
      return questionWithImages(sample)
    case 'prompt':
      return typeof sample.prompt === 'string'
        ? sample.prompt
        : sample.prompt.flatMap((turn) => shownTurn(turn))
    case 'response':
    case 'answer':
      return finalAnswer(sample, thinking).text
    case 'full_response':
      return fullResponse(sample)
    case 'transcript':
      return [...transcript(sample)]
    case 'tool_calls':
      return callsOf(sample)
    case 'ground_truth': {
      const { groundTruth } = sample
      if (groundTruth === null)
        throw new BadSample('ground_truth: the template names it, and the row has none')
      return typeof groundTruth === 'string' ? groundTruth : JSON.stringify(groundTruth)
    }
  }
}

/** The last turn with the thinking before its text. */
function fullResponse({ response, turns = [] }: Sample): string | readonly Message[] {
  const last = turns.findLast(({ role }) => role === 'assistant')
  return last?.reasoning === undefined ? response : shownTurn(last, { tools: false, reasoning: true })
}

/** Each call with what came back, as messages. */
function callsOf(sample: Sample): string | readonly Message[] {
  const calls = toolCallsOf(sample)
  if (calls.length === 0) return 'none'
  return calls.flatMap(({ turn: _turn, result, ...call }): readonly Message[] => [
    ...shownTurn({ role: 'assistant', content: '', toolCalls: [call] }),
    ...(result === null ? [] : [{ role: 'tool', content: result }]),
  ])
}

/** Twentieths of a token for each UTF-16 unit below 128, measured on English, code and JSON with a tokenizer of 100,000 tokens. */
const weights = Uint8Array.from({ length: 128 }, (_, code) => {
  const char = String.fromCharCode(code)
  if (/[a-z]/.test(char)) return 5
  if (/[A-Z]/.test(char)) return 10
  if (/\d/.test(char)) return 18
  return /[ \t]/.test(char) ? 2 : 14
})
const unit = 20

const weightOf = (code: number): number =>
  code < 128 ? (weights[code] ?? 14) : code < 0x250 ? 16 : code < 0x530 ? 11 : 24

/** An estimate: servers of judges have different tokenizers, and a reward must not depend on one that is asked. */
function estimatedTokens(text: string): number {
  let sum = 0
  for (let at = 0; at < text.length; at++) sum += weightOf(text.charCodeAt(at))
  return Math.ceil(sum / unit)
}

/** The longest beginning, or end, of at most so many tokens. Never half of a surrogate pair. */
function partOf(text: string, tokens: number, side: 'beginning' | 'end'): string {
  let left = tokens * unit
  let kept = 0
  while (kept < text.length) {
    left -= weightOf(text.charCodeAt(side === 'beginning' ? kept : text.length - 1 - kept))
    if (left < 0) break
    kept += 1
  }
  return side === 'beginning'
    ? text.slice(0, kept).replace(/[\ud800-\udbff]$/, '')
    : text.slice(text.length - kept).replace(/^[\udc00-\udfff]/, '')
}

/**
 * A value of at most so many tokens: the same value, or messages without its middle. The headings around what is left
 * and the note between them are the author's words, each text has a fence of its own.
 */
function withinTokens(
  value: string | readonly Message[],
  most: number | undefined,
): string | readonly Message[] {
  if (most === undefined) return value
  const turns = typeof value === 'string' ? [{ role: 'beginning', content: value }] : value
  const lengths = turns.map(({ content }) => estimatedTokens(content))
  const all = lengths.reduce((sum, length) => sum + length, 0)
  if (all <= most) return value
  const head: Message[] = []
  const tail: Message[] = []
  let [first, last] = [0, turns.length - 1]
  let left = Math.ceil(most / 2)
  for (; first < last && (lengths[first] ?? 0) <= left; first++) {
    head.push(turns[first] as Message)
    left -= lengths[first] ?? 0
  }
  const begun = turns[first] as Message
  head.push({ ...begun, ...cutContent(begun, partOf(begun.content, left, 'beginning')) })
  left = Math.floor(most / 2)
  for (; last > first && (lengths[last] ?? 0) <= left; last--) {
    tail.unshift(turns[last] as Message)
    left -= lengths[last] ?? 0
  }
  const ended = turns[last] as Message
  const rest = partOf(ended.content, left, 'end')
  if (typeof value === 'string') tail.unshift({ role: 'end', content: rest })
  else
    tail.unshift(
      last === first ? { role: ended.role, content: rest } : { ...ended, ...cutContent(ended, rest) },
    )
  const note = { role: 'left_out', content: `about ${all - most} tokens` }
  return [...head.filter(hasText), note, ...tail.filter(hasText)]
}

/** What is left of a turn's text, after all of its images. */
function cutContent({ parts = [] }: Message, text: string): Pick<Message, 'content' | 'parts'> {
  const images = parts.filter(({ type }) => type === 'image')
  return images.length > 0 ? { content: text, parts: [...images, { type: 'text', text }] } : { content: text }
}

const hasText = ({ content, parts }: Message): boolean => parts !== undefined || !isBlank(content)

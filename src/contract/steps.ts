/** The steps of a response for process reward models: where they end, and one score of all of their rewards. */
import { z } from 'zod'
import { isBlank, type Sample, type StepReward } from '../core/sample/sample.ts'
import { BadSample, type Prompt, QuestionError } from './prompt.ts'
import { turnsOf } from './rollout.ts'

/** A step of a text. */
export interface TextStep {
  readonly text: string
  /** Where the step ends: the number of Unicode code points of the text up to there, as Python counts. */
  readonly end: number
  /** The step has no visible text. Only with `blank: true`. */
  readonly blank?: true
}

/** A step of a rollout. */
export interface ResponseStep extends TextStep {
  /** The index of its turn in `turnsOf(sample)`. */
  readonly turn: number
}

/** How a text is cut into steps. */
export interface StepSplit {
  /**
   * `paragraph`: at blank lines. `line`: at line ends. Any other text: at each place where it stands. What separates two
   * steps belongs to neither.
   */
  readonly by: 'paragraph' | 'line' | (string & {})
  /** Whether pieces without visible text are steps too. Default: false. */
  readonly blank?: boolean
}

/** Half of a surrogate pair would cut characters in two. */
const halfPair = /\p{Cs}/u
const lineEnd = /\r\n|\n|\r/g
/** The lookahead keeps CR LF one line end. No part can match what another does, so the search is linear. */
const paragraphEnd = /(?:\r\n|\n|\r(?!\n))(?:[^\S\r\n]*(?:\r\n|\n|\r(?!\n)))+/g

/**
 * Cuts a text into steps. A text without the separator is one step; a text without visible characters has none.
 *
 * @example
 * ```ts
 * import { splitSteps } from 'reward-gateway/contract'
 *
 * splitSteps('2 + 2 = 4.\n\nSo 5.', { by: 'paragraph' })
 * // [{ text: '2 + 2 = 4.', end: 10 }, { text: 'So 5.', end: 17 }]
 * ```
 */
export function splitSteps(text: string, { by, blank = false }: StepSplit): readonly TextStep[] {
  if (typeof text !== 'string' || typeof by !== 'string' || by === '' || halfPair.test(by))
    throw new TypeError("splitSteps needs a text and { by: 'paragraph', 'line' or the text of a marker }")
  const steps: TextStep[] = []
  let [start, end] = [0, 0]
  const add = (to: number, next: number): void => {
    const piece = text.slice(start, to)
    end += codePointLength(piece)
    if (!isBlank(piece)) steps.push({ text: piece, end })
    else if (blank) steps.push({ text: piece, end, blank: true })
    end += codePointLength(text.slice(to, next))
    start = next
  }
  if (by === 'paragraph' || by === 'line') {
    for (const { index, 0: separator } of text.matchAll(by === 'line' ? lineEnd : paragraphEnd))
      add(index, index + separator.length)
  } else {
    for (let at = text.indexOf(by); at >= 0; at = text.indexOf(by, start)) add(at, at + by.length)
  }
  if (start < text.length || (blank && start > 0)) add(text.length, text.length)
  return steps
}

/**
 * The steps of what the policy wrote, with their turns: of its last turn, or with `scope: 'all'` of each of its turns.
 *
 * @example
 * ```ts
 * import { prompt, responseSteps, type Sample, steps } from 'reward-gateway/contract'
 *
 * const question = (sample: Sample) =>
 *   prompt`Solution: ${steps(responseSteps(sample, { by: 'paragraph' }), '<extra_0>')}`
 * ```
 */
export function responseSteps(
  sample: Pick<Sample, 'response' | 'turns'>,
  { scope = 'final', ...split }: StepSplit & { readonly scope?: 'final' | 'all' },
): readonly ResponseStep[] {
  const turns = turnsOf(sample)
  const last = responseTurn(sample)
  return turns.flatMap(({ role, content }, turn) =>
    turn === last || (scope === 'all' && role === 'assistant')
      ? splitSteps(content, split).map((step) => ({ turn, ...step }))
      : [],
  )
}

/** The index of the turn that is the response: the assistant's last one. -1 if it wrote none. */
const responseTurn = ({ turns }: Pick<Sample, 'turns'>): number =>
  turns ? turns.findLastIndex(({ role }) => role === 'assistant') : 0

/** More steps than any process reward model reads. A response with more of them is a bad sample. */
const mostSteps = 10_000

/**
 * A list of values with the author's mark after each, at which a process reward model scores them: `<extra_0>` for
 * Qwen's, ` ки\n` for Math-Shepherd's. Put it into prompt`...`, or use it as the content of a message. Each text is a value
 * of its own, and the guard breaks marks inside the texts. The sample fails if the number of scores differs from the
 * number of steps.
 *
 * @example
 * ```ts
 * import { chat, splitSteps, steps } from 'reward-gateway/contract'
 *
 * const response = 'First, 2 + 2 = 4.\n\nThen 4 + 1 = 5.'
 * const solution = steps(splitSteps(response, { by: 'paragraph' }), '<extra_0>')
 * const question = chat({ role: 'user', content: '2 + 2 + 1?' }, { role: 'assistant', content: solution })
 * ```
 */
export function steps(texts: readonly (string | { readonly text: string })[], mark: string): Prompt {
  const values = Array.isArray(texts)
    ? texts.map((one: string | { readonly text?: unknown } | null) => (isText(one) ? one : one?.text))
    : null
  if (!values?.every(isText))
    throw new QuestionError('the first argument of steps(...) is not a list of texts', steps)
  if (!isText(mark) || mark === '')
    throw new QuestionError(
      'the second argument of steps(...) is not a mark: pass the text that follows each step',
      steps,
    )
  if (values.length === 0) throw new BadSample('the response has no steps to ask about')
  if (values.length > mostSteps)
    throw new BadSample(`the response has ${values.length} steps, more than ${mostSteps}`)
  return {
    kind: 'prompt',
    literals: ['', ...values.map(() => mark)],
    values,
    mayBeEmpty: values.map((_text, at) => at),
    steps: values.length,
  }
}

/**
 * A score's steps, each with its turn, or what is wrong with them in words that quote no text. With `rollout`: null, only
 * their form and order are checked.
 */
export function checkedSteps(
  given: unknown,
  rollout: Pick<Sample, 'response' | 'turns'> | null,
): readonly StepReward[] | string {
  if (!Array.isArray(given)) return 'steps that are not a list'
  if (given.length > mostSteps) return `${given.length} steps, more than ${mostSteps}`
  const turns = rollout && turnsOf(rollout)
  const last = rollout ? responseTurn(rollout) : -1
  const checked: StepReward[] = []
  let [current, before, longest] = [-1, 0, Number.POSITIVE_INFINITY]
  for (const [at, step] of given.entries()) {
    const { turn = last, end, value } = (step ?? {}) as Partial<Record<keyof StepReward, unknown>>
    if (typeof value !== 'number' || !Number.isFinite(value)) return `step ${at} without a finite value`
    if (!isWhole(turn) || (turns && turns[turn]?.role !== 'assistant'))
      return `step ${at} whose turn is none of the assistant's`
    if (turn < current) return `step ${at} of an earlier turn than the step before it`
    if (turn > current) {
      current = turn
      before = 0
      if (turns) longest = codePointLength(turns[turn]?.content ?? '')
    }
    if (!isWhole(end) || end <= before) return `step ${at} whose end does not rise`
    if (end > longest) return `step ${at} that ends beyond its turn's text`
    before = end
    checked.push({ turn, end, value: value + 0 })
  }
  return checked
}

const isWhole = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0

/** How a score is made of the rewards of steps: an option for functions. */
export const stepAggregate = z.enum(['min', 'mean', 'product', 'sum', 'last'])

export type StepAggregate = z.infer<typeof stepAggregate>

/**
 * One score of the rewards of a response's steps. NaN if there are none, which no gateway takes for a score.
 *
 * @example
 * ```ts
 * import { aggregateSteps } from 'reward-gateway/contract'
 *
 * aggregateSteps([0.9, 0.5], 'min') // 0.5
 * ```
 */
export function aggregateSteps(values: readonly number[], how: StepAggregate): number {
  if (values.length === 0) return Number.NaN
  switch (how) {
    case 'min':
      return values.reduce((least, value) => Math.min(least, value))
    case 'product':
      return values.reduce((product, value) => product * value)
    case 'last':
      return values.at(-1) ?? Number.NaN
    case 'sum':
      return sumOf(values)
    case 'mean':
      return sumOf(values) / values.length
  }
}

const sumOf = (values: readonly number[]): number => values.reduce((sum, value) => sum + value)

/** The number of Unicode code points, as Python's len() counts. Half of a surrogate pair counts as one. */
function codePointLength(text: string): number {
  let { length } = text
  for (let at = text.length - 1; at > 0; at--) {
    if (!isLow(text.charCodeAt(at)) || !isHigh(text.charCodeAt(at - 1))) continue
    length -= 1
    at -= 1
  }
  return length
}

const isHigh = (unit: number): boolean => unit >= 0xd800 && unit < 0xdc00
const isLow = (unit: number): boolean => unit >= 0xdc00 && unit < 0xe000

const isText = (value: unknown): value is string => typeof value === 'string'

/**
 * `reward-gateway/testing`: contract tests for rules and judges, and rows to call any function with. They work with any
 * test runner.
 */
import type { Json, Sample, Score } from '../core/sample/sample.ts'
import type { AskName, Asks } from './asks.ts'
import type { ModelReward, Rule } from './define.ts'
import { BadSample } from './prompt.ts'
import { lastUserText, marker, questionFault, questionTexts, withMarker } from './question.ts'
import { breaksCase, type RegressionCase } from './regression-cases.ts'
import { shownSample } from './rollout.ts'
import type { Earlier, Range, Row, Verdict } from './row.ts'

export { type RegressionCase, regressionCases } from './regression-cases.ts'

/** The assertions that contract tests need: tap's `t`, or `node:assert/strict` with any other runner. */
export type TestRunner = Ok &
  (
    | { strictSame(found: unknown, wanted: unknown, title: string): unknown }
    | { deepStrictEqual(found: unknown, wanted: unknown, title: string): unknown }
  )

interface Ok {
  ok(holds: unknown, title: string): unknown
}

const same = (t: TestRunner, found: unknown, wanted: unknown, title: string): unknown =>
  'strictSame' in t ? t.strictSame(found, wanted, title) : t.deepStrictEqual(found, wanted, title)

/** The fields of a test row. Absent fields are empty. */
export interface RowParts extends Partial<Omit<Sample, 'prompt'>> {
  readonly prompt?: Sample['prompt']
  /** Like a step's `options` in an rm-config. */
  readonly options?: Json
  readonly earlier?: Readonly<Record<string, Earlier>>
}

/**
 * Builds a frozen row as a worker would. Throws if the function rejects the ground truth or the options.
 *
 * @example
 * ```ts
 * import { defineRule } from 'reward-gateway/contract'
 * import { row } from 'reward-gateway/testing'
 * import { z } from 'zod'
 *
 * const rule = defineRule({ truth: z.string(), range: [0, 1], score: ({ truth }) => truth.length })
 * row(rule, { response: '4', groundTruth: '4' }).truth // '4'
 * ```
 */
export function row<T, O>(
  fn: {
    options: { parse(value: unknown): O }
    truth(options: O): { parse(value: unknown): T }
  },
  { options: given = {}, earlier = {}, ...sample }: RowParts = {},
): Row<T, O> {
  const options = fn.options.parse(given)
  const filled: Sample = {
    id: 'test',
    prompt: '',
    response: '',
    groundTruth: null,
    rmPrompts: {},
    extraInfo: {},
    ...sample,
  }
  return freeze({
    sample: shownSample(filled),
    truth: fn.truth(options).parse(filled.groundTruth),
    options,
    earlier,
  })
}

function freeze<V>(value: V): V {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value)
    Object.values(value).forEach(freeze)
  }
  return value
}

/** Turns a number into a score without parts. null stays null. */
const asScore = (verdict: Verdict): Score | null =>
  typeof verdict === 'number' ? { value: verdict } : verdict

/** Checks a score against the declared range and parts. Returns its value, or NaN if there is none. */
function scoreContract(
  t: TestRunner,
  title: string,
  score: Score | null,
  { range: [low, high], parts }: { readonly range: Range; readonly parts: readonly string[] },
): number {
  const value = score?.value ?? Number.NaN
  t.ok(value >= low && value <= high, `${title}: ${value} lies in the range`)
  const reported = score?.parts ?? {}
  const undeclared = Object.keys(reported).filter((name) => !parts.includes(name))
  same(t, undeclared, [], `${title}: reports declared parts only${undeclared.map((one) => `, not ${one}`)}`)
  t.ok(Object.values(reported).every(Number.isFinite), `${title}: its parts are finite`)
  return value
}

/** Checks that the best and the worst case reach the finite ends of the range. */
function endsContract(
  t: TestRunner,
  [low, high]: Range,
  { full, zero, within = 0 }: { readonly full: number; readonly zero: number; readonly within?: number },
): void {
  if (Number.isFinite(high))
    t.ok(high - full <= within, `full: scored ${full}, and the range ends at ${high}`)
  if (Number.isFinite(low)) t.ok(zero - low <= within, `zero: scored ${zero}, and the range begins at ${low}`)
}

/** Rows that the author of a rule provides for its contract test. */
export interface RuleCases {
  /** Options for the cases below. A case may have its own. */
  readonly options?: Json
  /**
   * How close `full` and `zero` must come to the ends of the range, for rules that only approach them.
   * Default: 0.
   */
  readonly within?: number
  /** A row that reaches the high end of the range. */
  readonly full: RowParts
  /** A row that reaches the low end of the range. */
  readonly zero: RowParts
  /** A response without an answer. The rule must neither throw nor reach the high end. */
  readonly malformed: RowParts
  /** Attempts to game the rule, by name. Each must score less than `full`. At least one. */
  readonly hacks: Readonly<Record<string, RowParts>>
  /** Findings of an audit, as `regressionCases` reads them. */
  readonly cases?: readonly RegressionCase[]
}

/**
 * The rule's score of a row, where a number becomes a score without parts. `null`: the rule does not apply.
 *
 * @example
 * ```ts
 * import { defineRule } from 'reward-gateway/contract'
 * import { scored } from 'reward-gateway/testing'
 * import { z } from 'zod'
 *
 * const rule = defineRule({ truth: z.unknown(), range: [0, 1], score: () => 0.5 })
 * scored(rule, { response: '4' }) // { value: 0.5 }
 * ```
 */
export const scored = <T, O>(rule: Rule<T, O>, parts: RowParts): Score | null =>
  asScore(rule.score(row(rule, parts)))

/**
 * Tests a rule: it reaches its range and stays inside, reports only declared parts, is deterministic, and
 * pays less for hacks.
 *
 * @example
 * ```ts
 * import assert from 'node:assert/strict'
 * import { defineRule } from 'reward-gateway/contract'
 * import { ruleContract } from 'reward-gateway/testing'
 * import { z } from 'zod'
 *
 * const rule = defineRule({
 *   truth: z.string(),
 *   range: [0, 1],
 *   score: ({ sample, truth }) => (sample.response === truth ? 1 : 0),
 * })
 * ruleContract(assert, rule, {
 *   full: { response: '42', groundTruth: '42' },
 *   zero: { response: '41', groundTruth: '42' },
 *   malformed: { response: '', groundTruth: '42' },
 *   hacks: { 'lists candidates': { response: '41 or 42', groundTruth: '42' } },
 * })
 * ```
 */
export function ruleContract<T, O>(t: TestRunner, rule: Rule<T, O>, cases: RuleCases): void {
  const check = (title: string, parts: RowParts): number => {
    const built = { ...(cases.options === undefined ? {} : { options: cases.options }), ...parts }
    const options = rule.options.parse(built.options ?? {})
    const score = scored(rule, built)
    t.ok(score !== null, `${title}: applies`)
    same(t, scored(rule, built), score, `${title}: the same twice`)
    return scoreContract(t, title, score, { range: rule.range(options), parts: rule.parts(options) })
  }
  const full = check('full', cases.full)
  const zero = check('zero', cases.zero)
  endsContract(t, rule.range(rule.options.parse(cases.options ?? {})), { ...cases, full, zero })
  t.ok(check('malformed', cases.malformed) < full, 'malformed: earns less than full')
  const hacks = Object.entries(cases.hacks)
  t.ok(hacks.length > 0, 'at least one hack is named')
  for (const [name, hack] of hacks) t.ok(check(name, hack) < full, `${name}: earns less than full`)
  for (const found of cases.cases ?? []) {
    const parts = partsOf(found)
    const title = `${found.name}: ${JSON.stringify(found.response.slice(0, 80))}`
    const right = check(`${title}, the right answer`, {
      ...parts,
      response: found.right,
      ...(found.rightTurns && { turns: found.rightTurns }),
    })
    const reward = check(title, {
      ...parts,
      response: found.response,
      ...(found.turns && { turns: found.turns }),
    })
    t.ok(!breaksCase(found, reward, right), `${title}: must ${found.must} than ${right}, and earns ${reward}`)
  }
}

/** The row of a regression case as test rows have it. */
function partsOf({
  row: { prompt, ground_truth, data_source, extra_info, rm_prompt },
}: RegressionCase): RowParts {
  return {
    prompt: (prompt ?? '') as Sample['prompt'],
    groundTruth: ground_truth ?? null,
    extraInfo: (extra_info ?? {}) as Sample['extraInfo'],
    ...(typeof data_source === 'string' && { dataSource: data_source }),
    ...(typeof rm_prompt === 'string' && { rmPrompt: rm_prompt }),
  }
}

/** A model's answer in a test. For a `generate` judge, the text is enough. */
export type TestAnswer<A extends AskName> = Asks[A]['answer'] | (A extends 'generate' ? string : never)

/** Rows and answers that the author of a judge provides for its contract test. */
export interface JudgeCases<A extends AskName> {
  readonly options?: Json
  /** As in `RuleCases`. */
  readonly within?: number
  /** A row for which the function asks the model. */
  readonly asked: RowParts
  /** The answers that reach the high end and the low end of the range. */
  readonly full: TestAnswer<A>
  readonly zero: TestAnswer<A>
  /** Answers without a verdict, by name. A `generate` judge needs at least one. */
  readonly unreadable?: Readonly<Record<string, TestAnswer<A>>>
}

/**
 * Tests a judge: its question guards the response and is deterministic, its verdicts stay in the range,
 * unreadable answers give no verdict, and every reply that it allows gives one.
 *
 * @example
 * ```ts
 * import assert from 'node:assert/strict'
 * import { defineModelReward, prompt } from 'reward-gateway/contract'
 * import { binaryVerdict } from 'reward-gateway/grading'
 * import { judgeContract } from 'reward-gateway/testing'
 * import { z } from 'zod'
 *
 * const judge = defineModelReward({
 *   truth: z.unknown(),
 *   range: [0, 1],
 *   ask: 'generate',
 *   rm_preprocess: ({ sample }) => prompt`${sample.prompt}\nAnswer: ${sample.response}\nReply 1 or 0.`,
 *   rm_postprocess: ({ text }) => binaryVerdict(text),
 * })
 * judgeContract(assert, judge, {
 *   asked: { prompt: 'What is 2 + 2?', response: '4' },
 *   full: '1',
 *   zero: '0',
 *   unreadable: { 'two verdicts': '1 or 0' },
 * })
 * ```
 */
export function judgeContract<A extends AskName, T, O>(
  t: TestRunner,
  judge: ModelReward<A, T, O>,
  cases: JudgeCases<A>,
): void {
  const parts = { ...(cases.options === undefined ? {} : { options: cases.options }), ...cases.asked }
  const asked = row(judge, parts)
  const { options } = asked
  askContract(t, judge, parts)
  const limits = { range: judge.range(options), parts: judge.parts(options) }
  t.ok(judge.rm_postprocess, 'rm_postprocess reads the answer')
  const read = (answer: TestAnswer<A>) => {
    const whole = typeof answer === 'string' ? { text: answer, finishReason: 'stop' } : answer
    return asScore(judge.rm_postprocess?.(whole as Asks[A]['answer'], asked) ?? null)
  }
  const check = (title: string, answer: TestAnswer<A>): number => {
    const score = read(answer)
    t.ok(score !== null, `${title}: is a verdict`)
    same(t, read(answer), score, `${title}: the same twice`)
    return scoreContract(t, title, score, limits)
  }
  const [full, zero] = [check('full', cases.full), check('zero', cases.zero)]
  endsContract(t, limits.range, { ...cases, full, zero })
  const reply = typeof judge.reply === 'function' ? judge.reply(options) : judge.reply
  const choices = reply && 'choice' in reply ? reply.choice : []
  for (const choice of choices) check(`the reply '${choice}'`, choice as TestAnswer<A>)
  const unreadable = Object.entries(cases.unreadable ?? {})
  if (judge.ask === 'generate') t.ok(unreadable.length > 0, 'at least one unreadable answer is named')
  for (const [name, answer] of unreadable) {
    const score = read(answer)
    t.ok(score === null, `${name}: is no verdict${score === null ? '' : `, but ${score.value}`}`)
  }
}

function askContract<A extends AskName, T, O>(
  t: TestRunner,
  judge: ModelReward<A, T, O>,
  parts: RowParts,
): void {
  const marked = row(judge, { ...parts, response: withMarker(parts.response ?? '') })
  const question = judge.rm_preprocess(marked)
  same(t, judge.rm_preprocess(marked), question, 'the question: the same twice')
  t.ok(typeof question !== 'number', 'the question: `asked` leads to one')
  if (typeof question === 'number') return
  const { trusted, untrusted } = questionTexts(question)
  const has = (text: string) => text.includes(marker)
  t.ok([...trusted, ...untrusted].some(has), 'the question: holds the response')
  t.ok(!trusted.some(has), 'the question: guards the response (put it into prompt`...`)')
  const fault = questionFault(judge.ask, question, [marked])
  t.ok(fault === null, `the question: asks about something${fault ? `, but ${fault.detail}` : ''}`)
  promptContract(t, judge, parts)
}

const someQuestion = 'What is two and two?'

/** Trainers send a prompt as a text or as messages. The question must cover it either way. */
function promptContract<A extends AskName, T, O>(
  t: TestRunner,
  judge: ModelReward<A, T, O>,
  parts: RowParts,
): void {
  const given = lastUserText({ prompt: parts.prompt ?? '' })
  const text = `${given.trim() === '' ? someQuestion : given} ${marker}`
  const turns = [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: text },
  ]
  const asText = asking(judge, { ...parts, prompt: text })
  if (asText === null || asText instanceof Error) return
  const asMessages = asking(judge, { ...parts, prompt: turns })
  const wrong = asMessages instanceof Error ? asMessages.message : null
  t.ok(wrong === null, `a prompt of messages: leads to a question${wrong === null ? '' : `, but ${wrong}`}`)
  if (asMessages === null || asMessages instanceof Error) return
  t.ok(
    asMessages.includes(marker) || !asText.includes(marker),
    'a prompt of messages: the question holds what is asked (lastUserText(sample), or the messages in prompt`...`)',
  )
}

/**
 * All text of the question about a row. `null`: no question, or the row is refused. An error: the question
 * cannot be built.
 */
function asking<A extends AskName, T, O>(
  judge: ModelReward<A, T, O>,
  parts: RowParts,
): string | Error | null {
  try {
    const asked = row(judge, parts)
    const question = judge.rm_preprocess(asked)
    if (typeof question === 'number') return null
    const fault = questionFault(judge.ask, question, [asked])
    if (fault) return new Error(fault.detail)
    const { trusted, untrusted } = questionTexts(question)
    return [...trusted, ...untrusted].join('\n')
  } catch (error) {
    if (error instanceof BadSample) return null
    return error instanceof Error ? error : new Error('something other than an Error was thrown')
  }
}

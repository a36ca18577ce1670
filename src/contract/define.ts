import { type ZodType, z } from 'zod'
import type { Score } from '../core/sample/sample.ts'
import type { AskName, Asks, Generation, Reply } from './asks.ts'
import type { Execution, ExecutionResult } from './execution.ts'
import type { Thinking } from './final-answer.ts'
import type { Finding, PartAsk, PartQuestions } from './questions.ts'
import type { Range, Row, Verdict } from './row.ts'

/**
 * Throw this if a rule's step budget is spent. The sample fails as `rule_timeout` and gets no score.
 *
 * @example
 * ```ts
 * import { RuleTimeout } from 'reward-gateway/contract'
 *
 * let steps = 1_000_000
 * function step(): void {
 *   steps -= 1
 *   if (steps < 0) throw new RuleTimeout('the answer needs too many steps')
 * }
 * ```
 */
export class RuleTimeout extends Error {
  override readonly name = 'RuleTimeout' as const
}

/** What every reward function declares besides its hooks. */
export interface Declaration<T, O> {
  /**
   * Parses the ground truth. A row that it rejects fails as `bad_sample` and is never scored. Use
   * `z.unknown()` if the function needs none.
   */
  readonly truth: ZodType<T> | ((options: O) => ZodType<T>)
  /**
   * Parses a step's `options`. A `z.strictObject` with defaults rejects misspelt names. If absent, the
   * function has no options.
   */
  readonly options?: ZodType<O>
  /** Lowest and highest score. A score outside fails its sample; nothing is clamped. */
  readonly range: Range | ((options: O) => Range)
  /** Names of the components that a score may report. If absent: none. */
  readonly parts?: readonly string[] | ((options: O) => readonly string[])
}

/** A declaration with its defaults; the gateway works with this. */
interface Definition<K extends string, T, O> {
  readonly kind: K
  readonly options: ZodType<O>
  truth(options: O): ZodType<T>
  range(options: O): Range
  parts(options: O): readonly string[]
}

interface Scores<T, O> {
  /**
   * Pure: the same row always gives the same verdict. `null`: the rule does not apply to this row. If it
   * throws, the sample fails.
   */
  score(row: Row<T, O>): Verdict
}

interface ScoresGroup<T, O> {
  /** One verdict per row, in the order of the rows. */
  score(rows: readonly Row<T, O>[]): readonly Verdict[]
}

interface Asking<A extends AskName, O> {
  /**
   * `generate`: a text. `classify`: a scalar. `rewards`: one number per step. `embed`: vectors. `choose`
   * and `decide`: probabilities. `service`: the JSON reply of a service.
   */
  readonly ask: A
  /** Constrains the model's output so that the answer can be read. If absent: no constraint. */
  readonly reply?: Reply | ((options: O) => Reply | undefined)
  /**
   * Set if the question shows `finalAnswer(sample, thinking)` in place of the response. A response without a final
   * answer is then refused as an empty one is.
   */
  readonly thinking?: Thinking | ((options: O) => Thinking | undefined)
}

interface AsksRow<A extends AskName, T, O> extends Asking<A, O> {
  /**
   * The question. Write it with prompt`...`, so that the response cannot pose as instructions. A number is a
   * verdict without a call.
   */
  rm_preprocess(row: Row<T, O>): Asks[A]['input'] | number
  /**
   * Reads the verdict from the answer. `null`: no readable verdict. If absent, the function writes a critique
   * whose text later steps read.
   */
  rm_postprocess?(answer: Asks[A]['answer'], row: Row<T, O>): Verdict
}

interface AsksPair<A extends AskName, T, O> extends Asking<A, O> {
  /** The question about two answers to one prompt. The engine asks it in both orders. */
  rm_preprocess(a: Row<T, O>, b: Row<T, O>): Asks[A]['input']
  /** The probability, 0 to 1, that `a` is better. `null`: no readable verdict. */
  rm_postprocess(answer: Asks[A]['answer'], a: Row<T, O>, b: Row<T, O>): number | null
}

interface AsksList<A extends AskName, T, O> extends Asking<A, O> {
  /** The question about all answers to one prompt, in the order of the request. */
  rm_preprocess(rows: readonly Row<T, O>[]): Asks[A]['input']
  /** One verdict per row, in the order of the rows. `null`: no readable verdict. */
  rm_postprocess(answer: Asks[A]['answer'], rows: readonly Row<T, O>[]): readonly Verdict[] | null
}

export interface AsksQuestions<A extends PartAsk, T, O> extends Asking<A, O> {
  /** The questions about a row. A number is a verdict without a call. */
  rm_preprocess(row: Row<T, O>): PartQuestions<A> | number
  /** One score for each that question `at` promises. `null`: not readable; in place of all: none is. */
  rm_postprocess(answer: Asks[A]['answer'], row: Row<T, O>, at: number): readonly Verdict[] | null
  /**
   * The verdict from what was found, question by question. Also called before each later stage; `undefined` there asks
   * that stage. `null`: there is none, and the row fails for what is missing.
   */
  combine(found: readonly (readonly Finding[])[], row: Row<T, O>): Verdict | undefined
}

export interface AsksGroupQuestions<T, O> extends Asking<'generate', O> {
  /** The questions about all answers to one prompt. Their order depends on the answers only. */
  rm_preprocess(rows: readonly Row<T, O>[]): PartQuestions<'generate'>
  /** One score for each that question `at` promises: one a row, unless it says so. `null`: as for a row. */
  rm_postprocess(answer: Generation, rows: readonly Row<T, O>[], at: number): readonly Verdict[] | null
  /** One verdict per row. As for a row; `null` for a row: it fails for what is missing. */
  combine(found: readonly (readonly Finding[])[], rows: readonly Row<T, O>[]): readonly Verdict[] | undefined
}

interface RunsProgram<T, O> {
  /** The program and its cases. A number or a score is a verdict without a run. */
  rm_preprocess(row: Row<T, O>): Execution | number | Score
  /** Reads the verdict from what became of the cases. */
  rm_postprocess(result: ExecutionResult, row: Row<T, O>): Verdict
}

/** Scores one row without a model. */
export type Rule<T = unknown, O = unknown> = Definition<'rule', T, O> & Scores<T, O>
/** Scores the answers to one prompt together, without a model. */
export type GroupRule<T = unknown, O = unknown> = Definition<'group-rule', T, O> & ScoresGroup<T, O>
/** Asks a model about each row. */
export type ModelReward<A extends AskName = AskName, T = unknown, O = unknown> = Definition<'model', T, O> &
  AsksRow<A, T, O>
/** Asks a model which of two answers to a prompt is better. */
export type PairReward<A extends AskName = AskName, T = unknown, O = unknown> = Definition<'pair', T, O> &
  AsksPair<A, T, O>
/** Asks a model about all answers to a prompt at once. */
export type ListReward<A extends AskName = AskName, T = unknown, O = unknown> = Definition<'list', T, O> &
  AsksList<A, T, O>

/** Asks a model several questions about each row, and combines what they say. */
export type QuestionsReward<A extends PartAsk = PartAsk, T = unknown, O = unknown> = Definition<
  'questions',
  T,
  O
> &
  AsksQuestions<A, T, O>
/** Asks a model several questions about all answers to a prompt. */
export type GroupQuestionsReward<T = unknown, O = unknown> = Definition<'group-questions', T, O> &
  AsksGroupQuestions<T, O>
/** Runs a program of each row in a sandbox. */
export type ProgramReward<T = unknown, O = unknown> = Definition<'program', T, O> & RunsProgram<T, O>

/** What a file in reward-functions/ exports. */
export type RewardFunction =
  | Rule
  | GroupRule
  | ModelReward
  | PairReward
  | ListReward
  | QuestionsReward
  | GroupQuestionsReward
  | ProgramReward
/** How the engine calls a function: by row, group, pair, list, questions or program. */
export type FunctionKind = RewardFunction['kind']

/** An object without keys: reading an undeclared option is a type error. */
export type None = Record<never, never>

/**
 * Defines a reward that code computes from one answer. It has no model, clock or network, and runs in a
 * worker with a time limit.
 *
 * @example
 * ```ts
 * import { defineRule } from 'reward-gateway/contract'
 * import { z } from 'zod'
 *
 * export default defineRule({
 *   truth: z.string(),
 *   range: [0, 1],
 *   score: ({ sample, truth }) => (sample.response.trim() === truth ? 1 : 0),
 * })
 * ```
 */
export function defineRule<T, O = None>(rule: Declaration<T, O> & Scores<T, O>): Rule<T, O> {
  return { ...rule, ...completed('rule', rule) }
}

/**
 * Defines a reward that code computes from all answers to one prompt together.
 *
 * @example
 * ```ts
 * import { defineGroupRule } from 'reward-gateway/contract'
 * import { z } from 'zod'
 *
 * export default defineGroupRule({
 *   truth: z.unknown(),
 *   range: [0, 1],
 *   score(rows) {
 *     const shortest = Math.min(...rows.map(({ sample }) => sample.response.length))
 *     return rows.map(({ sample }) => (sample.response.length === shortest ? 1 : 0))
 *   },
 * })
 * ```
 */
export function defineGroupRule<T, O = None>(rule: Declaration<T, O> & ScoresGroup<T, O>): GroupRule<T, O> {
  return { ...rule, ...completed('group-rule', rule) }
}

/**
 * Defines a reward that asks a model about each answer. The rm-config names the model.
 *
 * @example
 * ```ts
 * import { defineModelReward, prompt, questionText } from 'reward-gateway/contract'
 * import { binaryVerdict } from 'reward-gateway/grading'
 * import { z } from 'zod'
 *
 * export default defineModelReward({
 *   truth: z.unknown(),
 *   range: [0, 1],
 *   ask: 'generate',
 *   reply: { choice: ['1', '0'] },
 *   rm_preprocess: ({ sample }) =>
 *     prompt`Question: ${questionText(sample)}\nAnswer: ${sample.response}\nIs it right? Reply 1 or 0.`,
 *   rm_postprocess: ({ text }) => binaryVerdict(text),
 * })
 * ```
 */
export function defineModelReward<A extends AskName, T, O = None>(
  reward: Declaration<T, O> & AsksRow<A, T, O>,
): ModelReward<A, T, O> {
  return { ...reward, ...completed('model', reward) }
}

/**
 * Defines a reward that asks a model to compare two answers. The engine chooses the pairs, asks in both
 * orders and fits the scores.
 *
 * @example
 * ```ts
 * import { definePairReward, prompt, questionText } from 'reward-gateway/contract'
 * import { labelVerdict } from 'reward-gateway/grading'
 * import { z } from 'zod'
 *
 * export default definePairReward({
 *   truth: z.unknown(),
 *   range: [0, 1],
 *   ask: 'generate',
 *   reply: { choice: ['A', 'B'] },
 *   rm_preprocess: (a, b) =>
 *     prompt`Question: ${questionText(a.sample)}\nA: ${a.sample.response}\nB: ${b.sample.response}\nReply A or B.`,
 *   rm_postprocess({ text }) {
 *     const better = labelVerdict(text, ['A', 'B'])
 *     return better === null ? null : better === 'A' ? 1 : 0
 *   },
 * })
 * ```
 */
export function definePairReward<A extends AskName, T, O = None>(
  reward: Declaration<T, O> & AsksPair<A, T, O>,
): PairReward<A, T, O> {
  return { ...reward, ...completed('pair', reward) }
}

/**
 * Defines a reward that asks a model about all answers of a group in one question.
 *
 * @example
 * ```ts
 * import { defineListReward, fill } from 'reward-gateway/contract'
 * import { z } from 'zod'
 *
 * export default defineListReward({
 *   truth: z.unknown(),
 *   range: [0, 10],
 *   ask: 'generate',
 *   rm_preprocess(rows) {
 *     const answers = rows.map(({ sample }, at) => [`answer_${at + 1}`, sample.response] as const)
 *     const list = answers.map(([name]) => `${name}: {${name}}`).join('\n')
 *     return fill(`Grade each answer from 0 to 10, one number per line.\n${list}`, Object.fromEntries(answers))
 *   },
 *   rm_postprocess: ({ text }, rows) => {
 *     const grades = text.trim().split('\n').map(Number)
 *     return rows.map((_row, at) => grades[at] ?? null)
 *   },
 * })
 * ```
 */
export function defineListReward<A extends AskName, T, O = None>(
  reward: Declaration<T, O> & AsksList<A, T, O>,
): ListReward<A, T, O> {
  return { ...reward, ...completed('list', reward) }
}

/**
 * Defines a reward that runs a program, usually the response's, in the sandbox that the rm-config names.
 *
 * @example
 * ```ts
 * import { defineProgramReward } from 'reward-gateway/contract'
 * import { z } from 'zod'
 *
 * export default defineProgramReward({
 *   truth: z.string(),
 *   range: [0, 1],
 *   rm_preprocess: ({ sample, truth }) => ({
 *     language: 'python',
 *     program: sample.response,
 *     cases: [{ stdin: '1 2', expected: { stdout: truth } }],
 *   }),
 *   rm_postprocess: ({ cases }) => Number(cases.every(({ passed }) => passed) && cases.length === 1),
 * })
 * ```
 */
export function defineProgramReward<T, O = None>(
  reward: Declaration<T, O> & RunsProgram<T, O>,
): ProgramReward<T, O> {
  return { ...reward, ...completed('program', reward) }
}

/** A declaration with its defaults. Throws TypeError for mistakes that a compiler would find. */
export function completed<K extends FunctionKind, T, O>(
  kind: K,
  { truth, options, range, parts }: Declaration<T, O>,
): Definition<K, T, O> {
  // Users' files are not compiled, so the checks that types would make run here. The error names the file and
  // the line.
  if (typeof range !== 'function' && !isRange(range))
    throw new TypeError('the function needs `range: [low, high]`, the lowest and the highest score')
  if (typeof truth !== 'function' && typeof (truth as Partial<ZodType> | undefined)?.safeParse !== 'function')
    throw new TypeError(
      'the function needs `truth`, a zod schema of its ground truth (z.unknown() if it reads none)',
    )
  return {
    kind,
    truth: typeof truth === 'function' ? truth : () => truth,
    options: options ?? (z.strictObject({}) as unknown as ZodType<O>),
    range: typeof range === 'function' ? range : () => range,
    parts: typeof parts === 'function' ? parts : () => parts ?? [],
  }
}

function isRange(range: unknown): boolean {
  if (!Array.isArray(range)) return false
  const [low, high] = range as readonly unknown[]
  return typeof low === 'number' && typeof high === 'number' && low <= high
}

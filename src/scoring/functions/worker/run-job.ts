import { type ZodType, z } from 'zod'
import {
  type AskName,
  type Asks,
  BadSample,
  NoVerdict,
  type Range,
  type RewardFunction,
  type Row,
  RuleTimeout,
} from '../../../contract/index.ts'
import { QuestionError } from '../../../contract/prompt.ts'
import { shownSample } from '../../../contract/rollout.ts'
import { errorPlace } from '../../../core/error-place.ts'
import type { Json, Score } from '../../../core/sample/sample.ts'
import { type JsonValue, readJson } from '../../../grading/json/json.ts'
import type { CallResult, CallRow } from '../function-host.ts'
import type { FunctionJob, JobResult } from '../job.ts'
import { checkExecution } from './check-execution.ts'
import {
  ContractViolation,
  checkQuestion,
  checkVerdict,
  checkVerdicts,
  isPlain,
  type VerdictLimits,
} from './check-results.ts'
import { errorText } from './error-text.ts'
import type { Loaded } from './load.ts'
import { noCall, questionsAnswer } from './run-questions.ts'
import { problemsOf } from './schema-problems.ts'

type CallJob = Extract<FunctionJob, { type: 'call' }>

/** Runs a job of a function that was loaded. Never throws. `isOwn`: see `runCall`. */
export function runJob(loaded: Loaded, job: FunctionJob, isOwn = false): JobResult {
  if (!loaded.ok) return { type: 'invalid', reason: loaded.reason }
  if (job.type === 'describe') return describe(job.name, loaded.fn)
  return job.type === 'bind' ? bind(loaded.fn, job.options) : runCall(loaded.fn, job, isOwn)
}

/**
 * Runs one call of author's code. Never throws: an exception becomes a failure. `isOwn`: code of this package, which never
 * changes its rows, so that they need not be frozen.
 */
export function runCall(fn: RewardFunction, job: CallJob, isOwn = false): JobResult {
  const general = fn.kind === 'rule' || fn.kind === 'group-rule' ? 'rule_error' : 'function_error'
  const hook = hookOf[job.op]
  try {
    const binding = bindingOf(fn, job.options)
    const { length } = job.rows
    const fromText: number[] = []
    const rows = job.rows.map((row, index) => rowOf(binding, row, { index, length, isOwn, fromText }))
    // Verdicts match rows by position: sorting the rows would swap their verdicts.
    if (!isOwn) Object.freeze(rows)
    return { type: 'called', result: flagged(answerOf(fn, job, rows, binding), fromText, length) }
  } catch (error) {
    if (error instanceof BadSample) return badSample(error)
    if (error instanceof NoVerdict) return noVerdict(error)
    const fault = error instanceof ContractViolation
    const thrown = error instanceof RuleTimeout ? 'rule_timeout' : general
    const kind = (fault ? error.kind : null) ?? thrown
    const place = fault ? '' : `${hook} ${errorPlace(error)}`
    const detail = fault
      ? error.message
      : error instanceof QuestionError
        ? `${place}: ${error.message}`
        : place
    const result: CallResult = { status: 'failed', failure: { kind, retryable: false, detail } }
    return fault ? { type: 'called', result } : { type: 'called', result, error: errorText(error) }
  }
}

const hookOf: Readonly<Record<CallJob['op'], string>> = {
  score: 'score',
  preprocess: 'rm_preprocess',
  postprocess: 'rm_postprocess',
  combine: 'combine',
}

const longestDetail = 500

const noVerdict = ({ kind, message }: NoVerdict): JobResult => ({
  type: 'called',
  result: {
    status: 'failed',
    failure: { kind, retryable: false, detail: message.slice(0, longestDetail) },
  },
})

const badSample = ({ message }: BadSample): JobResult => ({
  type: 'called',
  result: {
    status: 'failed',
    failure: { kind: 'bad_sample', retryable: false, detail: message.slice(0, longestDetail) },
  },
})

/** A function with parsed options. */
interface Binding {
  readonly options: unknown
  readonly truth: ZodType
  /** For rules. */
  readonly scored: VerdictLimits
  /** For judges' replies. */
  readonly judged: VerdictLimits
}

const bindings = new WeakMap<RewardFunction, Map<string, Binding>>()
const bindingsKept = 256

function bindingOf(fn: RewardFunction, text: string): Binding {
  let known = bindings.get(fn)
  if (!known) {
    known = new Map()
    bindings.set(fn, known)
  }
  let binding = known.get(text)
  if (!binding) {
    const options = freeze(fn.options.parse(JSON.parse(text)))
    const limits = { range: fn.range(options), parts: fn.parts(options) }
    binding = {
      options,
      truth: fn.truth(options),
      scored: { hook: 'score', ...limits, outOfRange: 'rule_error' },
      judged: { hook: 'rm_postprocess', ...limits, outOfRange: 'judge_out_of_range' },
    }
    if (known.size >= bindingsKept) known.clear()
    known.set(text, binding)
  }
  return binding
}

interface RowContext {
  readonly index: number
  readonly length: number
  readonly isOwn: boolean
  /** Collects the indices of rows whose ground truth was parsed from its text. */
  readonly fromText: number[]
}

function rowOf(
  binding: Binding,
  { sample, earlier }: CallRow,
  { index, length, isOwn, fromText }: RowContext,
): Row {
  const where = length === 1 ? '' : ` of row ${index}`
  let parsed: ReturnType<ZodType['safeParse']>
  let truth: unknown
  let said: TextTruth | null = null
  try {
    parsed = binding.truth.safeParse(sample.groundTruth)
    if (!parsed.success) said = textTruth(binding.truth, sample.groundTruth)
  } catch (error) {
    throw new ContractViolation(`ground_truth${where}: its schema ${errorPlace(error)}`, 'bad_sample')
  }
  if (parsed.success) truth = parsed.data
  else if (said && 'truth' in said) {
    truth = said.truth
    fromText.push(index)
  } else {
    const reasons = problemsOf(parsed.error).map(({ path, message }) =>
      path ? `${path}: ${message}` : message,
    )
    const isAbsent = sample.groundTruth === null
    if (isAbsent) reasons.unshift('the row has none')
    if (said) reasons.push(`as JSON: ${said.problem}`)
    throw new ContractViolation(
      `ground_truth${where}: ${(isAbsent ? reasons.map(withoutNull) : reasons).join('; ').slice(0, 500)}`,
      'bad_sample',
    )
  }
  const { options } = binding
  if (isOwn) return { sample, truth, options, earlier }
  return Object.freeze({
    sample: freeze(shownSample(sample)),
    truth: freeze(truth),
    options,
    earlier: freeze(earlier),
  })
}

const withoutNull = (reason: string): string => reason.replace(/, received null$/, '')

const verdicts = (checked: readonly (Score | null)[]): CallResult => ({
  status: 'verdicts',
  verdicts: checked,
})

function answerOf(fn: RewardFunction, job: CallJob, rows: readonly Row[], binding: Binding): CallResult {
  const [row, other] = rows as [Row, Row]
  const { scored, judged } = binding
  if (fn.kind === 'rule' || fn.kind === 'group-rule') {
    if (job.op !== 'score') throw new ContractViolation(`a ${fn.kind} has no ${job.op}`)
    return fn.kind === 'rule'
      ? verdicts([checkVerdict(fn.score(row), scored, row.sample)])
      : verdicts(checkVerdicts(fn.score(rows), rows, scored))
  }
  if (fn.kind === 'questions' || fn.kind === 'group-questions') return questionsAnswer(fn, job, rows, judged)
  const answer = job.answer as never
  switch (job.op) {
    case 'preprocess': {
      if (fn.kind === 'program') {
        const asked = fn.rm_preprocess(row)
        return typeof asked === 'number' || 'value' in asked
          ? noCall(asked, judged)
          : { status: 'execution', execution: checkExecution(asked) }
      }
      if (fn.kind === 'pair') return question(fn.ask, fn.rm_preprocess(row, other), rows)
      if (fn.kind === 'list') return question(fn.ask, fn.rm_preprocess(rows), rows)
      const asked = fn.rm_preprocess(row)
      return typeof asked === 'number' ? noCall(asked, judged) : question(fn.ask, asked, rows)
    }
    case 'postprocess': {
      if (fn.kind === 'program')
        return verdicts([checkVerdict(fn.rm_postprocess(answer, row), judged, row.sample)])
      if (fn.kind === 'pair') {
        const better: unknown = fn.rm_postprocess(answer, row, other)
        return verdicts([checkVerdict(better, { ...judged, range: [0, 1], parts: [] }, null)])
      }
      if (fn.kind === 'list') {
        const listed = fn.rm_postprocess(answer, rows)
        return verdicts(listed === null ? rows.map(() => null) : checkVerdicts(listed, rows, judged))
      }
      if (!fn.rm_postprocess) throw new ContractViolation('a critique has no rm_postprocess')
      return verdicts([checkVerdict(fn.rm_postprocess(answer, row), judged, row.sample)])
    }
    default:
      throw new ContractViolation(`a ${fn.kind} reward has no ${job.op}`)
  }
}

const question = (ask: AskName, value: unknown, rows: readonly Row[]): CallResult => ({
  status: 'question',
  question: checkQuestion(ask, value, rows) as Asks[AskName]['input'],
})

/** Describes a function to the main thread. */
export function describe(name: string, fn: RewardFunction): JobResult {
  return {
    type: 'described',
    description: {
      name,
      kind: fn.kind,
      ask: 'ask' in fn ? fn.ask : null,
      critique: fn.kind === 'model' && fn.rm_postprocess === undefined,
      truthSchema: truthSchema(fn),
      optionsSchema: jsonSchema(() => fn.options),
    },
  }
}

/** Parses options, and computes what depends on them. */
export function bind(fn: RewardFunction, text: string): JobResult {
  try {
    const parsed = fn.options.safeParse(JSON.parse(text))
    if (!parsed.success) return { type: 'refused', problems: problemsOf(parsed.error) }
    const options = freeze(parsed.data)
    const range: unknown = fn.range(options)
    const [low, high] = Array.isArray(range) ? (range as unknown[]) : []
    if (!isRange(low, high))
      return refused('the `range` of the function gives no [low, high] for these options')
    const parts = fn.parts(options)
    if (typeof fn.truth(options)?.safeParse !== 'function')
      return refused('the `truth` of the function gives no zod schema for these options')
    const reply = !('ask' in fn) ? undefined : typeof fn.reply === 'function' ? fn.reply(options) : fn.reply
    const shown = 'ask' in fn ? fn.thinking : undefined
    const thinking = typeof shown === 'function' ? shown(options) : shown
    const limits: Range = [low as number, high as number]
    return {
      type: 'bound',
      bound: { range: limits, parts: [...parts], ...(reply && { reply }), ...(thinking && { thinking }) },
    }
  } catch (error) {
    return refused(`the function ${errorPlace(error)}`)
  }
}

/** Either end may be infinite. */
const isRange = (low: unknown, high: unknown): boolean =>
  typeof low === 'number' && typeof high === 'number' && low <= high

const refused = (message: string): JobResult => ({ type: 'refused', problems: [{ path: '', message }] })

function truthSchema(fn: RewardFunction): Json {
  return jsonSchema(() => fn.truth(fn.options.parse({})))
}

/** null if the schema has no JSON Schema form, or needs options that have no defaults. */
function jsonSchema(schema: () => ZodType): Json {
  try {
    return z.toJSONSchema(schema(), { io: 'input', unrepresentable: 'any' }) as Json
  } catch {
    return null
  }
}

/** A ground truth parsed from its JSON text, or why the schema refuses that too. */
type TextTruth = { readonly truth: unknown } | { readonly problem: string }

const deepest = 128

/**
 * Parses a ground truth from JSON text, for trainers whose columns are all text. Used only if the schema refuses the text
 * itself. Nothing is rounded: NaN, integers beyond 2^53 and repeated keys are problems. null: not a string, or not JSON.
 * Linear in the text. Throws what the schema throws.
 */
function textTruth(schema: ZodType, sent: Json): TextTruth | null {
  const reading = typeof sent === 'string' ? readJson(sent, deepest) : null
  if (!reading) return null
  const problem = reading.repeatedKeys ? 'it names a key twice' : inexact(reading.value)
  if (problem !== null) return { problem }
  const said = schema.safeParse(plain(reading.value))
  if (said.success) return { truth: said.data }
  const [first] = problemsOf(said.error)
  return { problem: [first?.path, first?.message].filter(Boolean).join(': ') }
}

/** Why a double cannot hold the value exactly; null: it can. */
function inexact(value: JsonValue): string | null {
  if (typeof value === 'bigint') return 'it holds an integer beyond 2^53, which would be rounded'
  if (typeof value === 'number')
    return Number.isFinite(value) ? null : 'it holds NaN, or a number that is too large'
  if (typeof value !== 'object' || value === null) return null
  for (const item of value.values()) {
    const reason = inexact(item)
    if (reason !== null) return reason
  }
  return null
}

function plain(value: JsonValue): unknown {
  if (value instanceof Map) return Object.fromEntries(Array.from(value, ([key, item]) => [key, plain(item)]))
  return Array.isArray(value) ? value.map(plain) : value
}

/** Flag of a score whose row's ground truth was parsed from its text. */
const flag = 'truth_from_text'

/** Adds that flag to the scores of these rows. A single verdict about several rows counts for each of them. */
export function flagged(result: CallResult, fromText: readonly number[], rows: number): CallResult {
  if (result.status !== 'verdicts' || fromText.length === 0) return result
  const { verdicts } = result
  const meant = verdicts.length === rows ? new Set(fromText) : null
  return {
    status: 'verdicts',
    verdicts: verdicts.map((score, index) =>
      score && (meant?.has(index) ?? true) ? { ...score, flags: [...(score.flags ?? []), flag] } : score,
    ),
  }
}

/** Deep-freezes plain objects and arrays. Other objects stay as they are. */
export function freeze<V>(value: V): V {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  if (Array.isArray(value)) {
    Object.freeze(value)
    for (const item of value) freeze(item)
  } else if (isPlain(value)) {
    Object.freeze(value)
    for (const key of Object.keys(value)) freeze((value as Record<string, unknown>)[key])
  }
  return value
}

import type { ZodType } from 'zod'
import {
  type AskName,
  type Asks,
  BadSample,
  type RewardFunction,
  type Row,
  RuleTimeout,
} from '../../../contract/index.ts'
import { messagesWithoutText, QuestionError } from '../../../contract/prompt.ts'
import type { Score } from '../../../core/sample/sample.ts'
import type { CallResult, CallRow } from '../function-host.ts'
import type { Job, JobResult } from '../job.ts'
import { checkQuestion } from './check-question.ts'
import { checkVerdict, checkVerdicts, type VerdictLimits } from './check-verdict.ts'
import { ContractViolation } from './contract-violation.ts'
import { problemsOf } from './describe.ts'
import { errorPlace, errorText } from './error-text.ts'
import { freeze } from './freeze.ts'
import { flagged, type TextTruth, textTruth } from './text-truth.ts'

type CallJob = Extract<Job, { type: 'call' }>

/** A function with parsed options. */
interface Binding {
  readonly options: unknown
  readonly truth: ZodType
  /** Of rules. */
  readonly scored: VerdictLimits
  /** Of what a judge said. */
  readonly judged: VerdictLimits
}

const bindings = new WeakMap<RewardFunction, Map<string, Binding>>()
const bindingsKept = 256

/**
 * Runs one unit of author's code. Never throws: what goes wrong is a failure of the call. `isOwn`: code of this package,
 * which changes no row, so that none needs to be frozen.
 */
export function runCall(fn: RewardFunction, job: CallJob, isOwn = false): JobResult {
  const general = fn.kind === 'rule' || fn.kind === 'group-rule' ? 'rule_error' : 'function_error'
  const hook = { score: 'score', preprocess: 'rm_preprocess', postprocess: 'rm_postprocess' }[job.op]
  try {
    const binding = bindingOf(fn, job.options)
    const { length } = job.rows
    const fromText: number[] = []
    const rows = job.rows.map((row, index) => rowOf(binding, row, { index, length, isOwn, fromText }))
    // Verdicts are given by place: a list that was sorted would give each answer another one's.
    if (!isOwn) Object.freeze(rows)
    return { type: 'called', result: flagged(answerOf(fn, job, rows, binding), fromText, length) }
  } catch (error) {
    if (error instanceof BadSample) return unfit(error)
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

const unfit = ({ message }: BadSample): JobResult => ({
  type: 'called',
  result: {
    status: 'failed',
    failure: { kind: 'bad_sample', retryable: false, detail: message.slice(0, 500) },
  },
})

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

interface Reading {
  readonly index: number
  readonly length: number
  readonly isOwn: boolean
  /** Takes the indices of rows whose truth is what its text said. */
  readonly fromText: number[]
}

function rowOf(
  binding: Binding,
  { sample, earlier }: CallRow,
  { index, length, isOwn, fromText }: Reading,
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
    if (sample.groundTruth === null) reasons.unshift('the row has none')
    if (said) reasons.push(`as JSON: ${said.problem}`)
    throw new ContractViolation(`ground_truth${where}: ${reasons.join('; ').slice(0, 500)}`, 'bad_sample')
  }
  const { options } = binding
  if (isOwn) return { sample, truth, options, earlier }
  const prompt = typeof sample.prompt === 'string' ? null : messagesWithoutText(sample.prompt)
  return Object.freeze({
    sample: freeze(prompt ? { ...sample, prompt } : sample),
    truth: freeze(truth),
    options,
    earlier: freeze(earlier),
  })
}

function answerOf(fn: RewardFunction, job: CallJob, rows: readonly Row[], binding: Binding): CallResult {
  const [row, other] = rows as [Row, Row]
  const { scored, judged } = binding
  if (fn.kind === 'rule' || fn.kind === 'group-rule') {
    if (job.op !== 'score') throw new ContractViolation(`a ${fn.kind} has no ${job.op}`)
    return fn.kind === 'rule'
      ? verdicts([checkVerdict(fn.score(row), scored)])
      : verdicts(checkVerdicts(fn.score(rows), rows.length, scored))
  }
  const answer = job.answer as never
  switch (job.op) {
    case 'preprocess': {
      if (fn.kind === 'pair') return question(fn.ask, fn.rm_preprocess(row, other), rows)
      if (fn.kind === 'list') return question(fn.ask, fn.rm_preprocess(rows), rows)
      const asked = fn.rm_preprocess(row)
      return typeof asked === 'number'
        ? verdicts([checkVerdict(asked, { ...judged, hook: 'rm_preprocess', outOfRange: 'function_error' })])
        : question(fn.ask, asked, rows)
    }
    case 'postprocess': {
      if (fn.kind === 'pair') {
        const better: unknown = fn.rm_postprocess(answer, row, other)
        return verdicts([checkVerdict(better, { ...judged, range: [0, 1], parts: [] })])
      }
      if (fn.kind === 'list') {
        const listed = fn.rm_postprocess(answer, rows)
        return verdicts(listed === null ? rows.map(() => null) : checkVerdicts(listed, rows.length, judged))
      }
      if (!fn.rm_postprocess) throw new ContractViolation('a critique has no rm_postprocess')
      return verdicts([checkVerdict(fn.rm_postprocess(answer, row), judged)])
    }
    default:
      throw new ContractViolation(`a ${fn.kind} reward has no ${job.op}`)
  }
}

const verdicts = (checked: readonly (Score | null)[]): CallResult => ({
  status: 'verdicts',
  verdicts: checked,
})

const question = (ask: AskName, value: unknown, rows: readonly Row[]): CallResult => ({
  status: 'question',
  question: checkQuestion(ask, value, rows) as Asks[AskName]['input'],
})

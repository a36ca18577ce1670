import type { FunctionKind, Range, Reply } from '../../contract/index.ts'
import type { FailureKind, Json, Score } from '../../core/sample/sample.ts'
import { BrokenMessage, listOf, objectOf, textOf } from './frames.ts'
import type { CallResult, CallRow } from './function-host.ts'
import type { Job, JobResult } from './job.ts'
import { checkQuestion } from './worker/check-results.ts'

/**
 * A job's result as a process of JavaScript functions says it. A number or an object with `value` is the one score of a
 * call, null the one score that there is not, a list the scores of several rows.
 */
export type SaidResult = number | Score | null | readonly (Score | null)[] | SaidOther

/** What is no score; one of the keys says which. */
export interface SaidOther {
  readonly question?: unknown
  readonly failed?: readonly [kind: FailureKind, detail: string]
  /** What the author's code threw. */
  readonly error?: string | undefined
  readonly described?: Extract<JobResult, { type: 'described' }>['description']
  readonly bound?: {
    readonly range: readonly string[]
    readonly parts: readonly string[]
    readonly reply?: Reply
  }
  readonly refused?: Extract<JobResult, { type: 'refused' }>['problems']
  readonly invalid?: string
}

/** A result as the process says it. */
export function sayResult(result: JobResult): SaidResult {
  switch (result.type) {
    case 'described':
      return { described: result.description }
    case 'bound': {
      const { range, ...rest } = result.bound
      // JSON has no infinity.
      return { bound: { range: range.map(String), ...rest } }
    }
    case 'refused':
      return { refused: result.problems }
    case 'invalid':
      return { invalid: result.reason }
    case 'late':
      return { invalid: 'was late' }
    case 'called':
      return sayCall(result.result, result.error)
  }
}

function sayCall(result: CallResult, error: string | undefined): SaidResult {
  switch (result.status) {
    case 'failed':
      return { failed: [result.failure.kind, result.failure.detail], error }
    case 'question':
      return { question: result.question }
    case 'verdicts': {
      const { verdicts } = result
      if (verdicts.length !== 1) return verdicts
      const [score = null] = verdicts
      return score && Object.keys(score).length === 1 ? score.value : score
    }
  }
}

const longestText = 65_536

/** The result again; throws BrokenMessage where it is none of this job. */
export function readResult(said: unknown, job: Job): JobResult {
  if (job.type === 'call') {
    const result = readCall(said, job)
    if (result) return result
  }
  const other = objectOf(said, 'a result is of no kind')
  if (other.invalid !== undefined)
    return { type: 'invalid', reason: textOf(other.invalid, longestText, 'a reason is no text') }
  if (job.type === 'describe') return readDescription(other.described, job.name)
  if (job.type === 'bind')
    return other.refused === undefined ? readBound(other.bound) : readRefused(other.refused)
  throw new BrokenMessage('a result is of no kind')
}

function readCall(said: unknown, job: Extract<Job, { type: 'call' }>): JobResult | null {
  if (typeof said === 'number') return verdicts([{ value: finite(said) }], job)
  if (said === null) return verdicts([null], job)
  if (Array.isArray(said))
    return verdicts(
      said.map((one) => (one === null ? null : readScore(objectOf(one, 'a score is no object')))),
      job,
    )
  const other = objectOf(said, 'a result is of no kind')
  if (other.value !== undefined) return verdicts([readScore(other)], job)
  if (other.failed !== undefined) return readFailed(other)
  if (other.question === undefined) return null
  if (job.op !== 'preprocess') throw new BrokenMessage('a question where none is asked')
  const question = readQuestion(other.question, job.rows)
  return { type: 'called', result: { status: 'question', question } }
}

function verdicts(scores: readonly (Score | null)[], job: Extract<Job, { type: 'call' }>): JobResult {
  // Of two rows that are compared there is one verdict.
  if (scores.length !== job.rows.length && !(scores.length === 1 && job.op === 'postprocess'))
    throw new BrokenMessage('not one verdict a row')
  return { type: 'called', result: { status: 'verdicts', verdicts: scores } }
}

function finite(value: unknown): number {
  if (typeof value !== 'number' || !Number.isFinite(value))
    throw new BrokenMessage('a score is no finite number')
  return value
}

const mostFlags = 64
const deepest = 20

function readScore({ value, parts, details, flags }: Readonly<Record<string, unknown>>): Score {
  const score: { -readonly [K in keyof Score]: Score[K] } = { value: finite(value) }
  if (parts !== undefined) {
    const read = objectOf(parts, 'parts are no object')
    for (const name in read) finite(read[name])
    score.parts = read as Record<string, number>
  }
  if (details !== undefined) {
    if (isDeep(objectOf(details, 'details are no object'), deepest))
      throw new BrokenMessage('details are deep')
    score.details = details as Record<string, Json>
  }
  if (flags !== undefined) {
    const read = listOf(flags, 'flags are no list')
    if (read.length > mostFlags) throw new BrokenMessage('there are too many flags')
    score.flags = read.map((flag) => textOf(flag, 200, 'a flag is no text'))
  }
  return score
}

/** JSON that nests deeper than `depth`. */
function isDeep(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (depth === 0) return true
  for (const key in value) if (isDeep((value as Record<string, unknown>)[key], depth - 1)) return true
  return false
}

const kindsOfFailure: readonly unknown[] = [
  'rule_error',
  'function_error',
  'rule_timeout',
  'bad_sample',
  'judge_out_of_range',
] satisfies FailureKind[]

function readFailed({ failed, error }: Readonly<Record<string, unknown>>): JobResult {
  const [kind, detail] = listOf(failed, 'a failure is no list')
  if (!kindsOfFailure.includes(kind)) throw new BrokenMessage('a failure is of no kind')
  const failure = {
    kind: kind as FailureKind,
    retryable: false,
    detail: textOf(detail, longestText, 'the detail of a failure is no text'),
  }
  const result: CallResult = { status: 'failed', failure }
  return error === undefined
    ? { type: 'called', result }
    : { type: 'called', result, error: textOf(error, longestText, 'an error is no text') }
}

/** In one of the shapes that a question has; which of them its function asks in, it has said itself. */
function readQuestion(
  said: unknown,
  rows: readonly CallRow[],
): Extract<CallResult, { status: 'question' }>['question'] {
  const ask = Array.isArray(said)
    ? 'embed'
    : typeof said === 'object' && said !== null && 'labels' in said
      ? 'choose'
      : 'generate'
  try {
    return checkQuestion(ask, said, rows)
  } catch {
    throw new BrokenMessage('a question has no shape of one')
  }
}

const kinds: readonly unknown[] = ['rule', 'group-rule', 'model', 'pair', 'list'] satisfies FunctionKind[]
const asks: readonly unknown[] = [null, 'generate', 'classify', 'rewards', 'embed', 'choose']

function readDescription(said: unknown, name: string): JobResult {
  const { kind, ask, critique, truthSchema, optionsSchema } = objectOf(said, 'a description is no object')
  if (!kinds.includes(kind) || !asks.includes(ask)) throw new BrokenMessage('a description is of no kind')
  const description = { name, kind, ask, critique: critique === true, truthSchema, optionsSchema }
  return { type: 'described', description: description as SaidOther['described'] & object }
}

function readBound(said: unknown): JobResult {
  const { range, parts, reply } = objectOf(said, 'bound options are no object')
  const [low = Number.NaN, high = Number.NaN] = listOf(range, 'a range is no list').map(Number)
  if (!(low <= high)) throw new BrokenMessage('a range has no ends')
  const limits: Range = [low, high]
  const names = listOf(parts, 'parts are no list').map((part) => textOf(part, 200, 'a part is no text'))
  const read =
    reply === undefined ? {} : { reply: objectOf(reply, 'a reply is no object') as unknown as Reply }
  return { type: 'bound', bound: { range: limits, parts: names, ...read } }
}

function readRefused(said: unknown): JobResult {
  const problems = listOf(said, 'problems are no list').map((problem) => {
    const { path, message } = objectOf(problem, 'a problem is no object')
    return {
      path: textOf(path, longestText, 'a place is no text'),
      message: textOf(message, longestText, 'a message is no text'),
    }
  })
  return { type: 'refused', problems }
}

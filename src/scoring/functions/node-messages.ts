import { askNames } from '../../contract/asks.ts'
import type { Execution, FunctionKind, PartQuestions, Range, Reply, Thinking } from '../../contract/index.ts'
import { isPartDecision } from '../../contract/questions.ts'
import { checkedSteps } from '../../contract/steps.ts'
import type { FailureKind, Json, Score } from '../../core/sample/sample.ts'
import { listOf, MalformedMessage, objectOf, textOf } from './frames.ts'
import type { CallResult, CallRow } from './function-host.ts'
import type { FunctionJob, JobResult } from './job.ts'
import { checkExecution } from './worker/check-execution.ts'
import { checkQuestions } from './worker/check-questions.ts'
import { checkQuestion } from './worker/check-results.ts'

/**
 * A job's result as a Node process sends it. A number or an object with `value`: the single score of a call. null: that
 * score is missing. A list: the scores of several rows.
 */
export type EncodedResult = number | Score | null | readonly (Score | null)[] | EncodedOther

/** Any other result; one of the keys says which. */
interface EncodedOther {
  readonly question?: unknown
  readonly questions?: unknown
  readonly undecided?: true
  readonly execution?: unknown
  readonly failed?: readonly [kind: FailureKind, detail: string]
  /** The exception of the author's code. */
  readonly error?: string | undefined
  readonly described?: Extract<JobResult, { type: 'described' }>['description']
  readonly bound?: {
    readonly range: readonly string[]
    readonly parts: readonly string[]
    readonly reply?: Reply
    readonly thinking?: unknown
  }
  readonly refused?: Extract<JobResult, { type: 'refused' }>['problems']
  readonly invalid?: string
}

/** Encodes a result, in the process. */
export function encodeResult(result: JobResult): EncodedResult {
  switch (result.type) {
    case 'described':
      return { described: result.description }
    case 'bound': {
      const { range, ...rest } = result.bound
      // JSON has no Infinity.
      return { bound: { range: range.map(String), ...rest } }
    }
    case 'refused':
      return { refused: result.problems }
    case 'invalid':
      return { invalid: result.reason }
    case 'late':
      return { invalid: 'was late' }
    case 'called':
      return encodeCall(result.result, result.error)
  }
}

function encodeCall(result: CallResult, error: string | undefined): EncodedResult {
  switch (result.status) {
    case 'failed':
      return { failed: [result.failure.kind, result.failure.detail], error }
    case 'question':
      return { question: result.question }
    case 'questions':
      return { questions: result.questions }
    case 'undecided':
      return { undecided: true }
    case 'execution':
      return { execution: result.execution }
    case 'verdicts': {
      const { verdicts } = result
      if (verdicts.length !== 1) return verdicts
      const [score = null] = verdicts
      return score && Object.keys(score).length === 1 ? score.value : score
    }
  }
}

const longestText = 65_536

/** Decodes and checks a result; throws MalformedMessage if it does not fit the job. */
export function decodeResult(encoded: unknown, job: FunctionJob): JobResult {
  if (job.type === 'call') {
    const result = decodeCall(encoded, job)
    if (result) return result
  }
  const other = objectOf(encoded, 'a result is of unknown kind')
  if (other.invalid !== undefined)
    return { type: 'invalid', reason: textOf(other.invalid, longestText, 'a reason is not a string') }
  if (job.type === 'describe') return readDescription(other.described, job.name)
  if (job.type === 'bind')
    return other.refused === undefined ? readBound(other.bound) : readRefused(other.refused)
  throw new MalformedMessage('a result is of unknown kind')
}

function decodeCall(encoded: unknown, job: Extract<FunctionJob, { type: 'call' }>): JobResult | null {
  if (typeof encoded === 'number') return verdicts([{ value: finite(encoded) }], job)
  if (encoded === null) return verdicts([null], job)
  if (Array.isArray(encoded))
    return verdicts(
      encoded.map((one) => (one === null ? null : readScore(objectOf(one, 'a score is not an object')))),
      job,
    )
  const other = objectOf(encoded, 'a result is of unknown kind')
  if (other.value !== undefined) return verdicts([readScore(other)], job)
  if (other.failed !== undefined) return readFailed(other)
  if (other.undecided === true && job.op === 'combine')
    return { type: 'called', result: { status: 'undecided' } }
  if (other.questions !== undefined && job.op === 'preprocess')
    return {
      type: 'called',
      result: { status: 'questions', questions: readQuestions(other.questions, job.rows) },
    }
  if (other.question === undefined && other.execution === undefined) return null
  if (job.op !== 'preprocess') throw new MalformedMessage('an unexpected question')
  if (other.execution !== undefined)
    return { type: 'called', result: { status: 'execution', execution: readExecution(other.execution) } }
  const question = readQuestion(other.question, job.rows)
  return { type: 'called', result: { status: 'question', question } }
}

function verdicts(scores: readonly (Score | null)[], job: Extract<FunctionJob, { type: 'call' }>): JobResult {
  // A comparison of two rows has one verdict.
  const isOfPart = job.at !== undefined
  if (!isOfPart && scores.length !== job.rows.length && !(scores.length === 1 && job.op === 'postprocess'))
    throw new MalformedMessage('not one verdict a row')
  return { type: 'called', result: { status: 'verdicts', verdicts: scores } }
}

function finite(value: unknown): number {
  if (typeof value !== 'number' || !Number.isFinite(value))
    throw new MalformedMessage('a score is not a finite number')
  return value
}

const mostFlags = 64
const deepest = 20

function readScore({ value, parts, details, flags, steps }: Readonly<Record<string, unknown>>): Score {
  const score: { -readonly [K in keyof Score]: Score[K] } = { value: finite(value) }
  if (parts !== undefined) {
    const read = objectOf(parts, 'parts are not an object')
    for (const name in read) finite(read[name])
    score.parts = read as Record<string, number>
  }
  if (details !== undefined) {
    if (isDeep(objectOf(details, 'details are not an object'), deepest))
      throw new MalformedMessage('details nest too deep')
    score.details = details as Record<string, Json>
  }
  if (flags !== undefined) {
    const read = listOf(flags, 'flags are not a list')
    if (read.length > mostFlags) throw new MalformedMessage('there are too many flags')
    score.flags = read.map((flag) => textOf(flag, 200, 'a flag is not a string'))
  }
  if (steps !== undefined) {
    const read = checkedSteps(steps, null)
    if (typeof read === 'string') throw new MalformedMessage('steps of a score are malformed')
    score.steps = read
  }
  return score
}

/** Whether a value nests deeper than `depth`. */
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
  'judge_rejected',
  'judge_unparseable',
] satisfies FailureKind[]

function readFailed({ failed, error }: Readonly<Record<string, unknown>>): JobResult {
  const [kind, detail] = listOf(failed, 'a failure is not a list')
  if (!kindsOfFailure.includes(kind)) throw new MalformedMessage('a failure is of unknown kind')
  const failure = {
    kind: kind as FailureKind,
    retryable: false,
    detail: textOf(detail, longestText, 'the detail of a failure is not a string'),
  }
  const result: CallResult = { status: 'failed', failure }
  return error === undefined
    ? { type: 'called', result }
    : { type: 'called', result, error: textOf(error, longestText, 'an error is not a string') }
}

/** Decodes a question. Its shape tells which ask it belongs to. */
function readQuestion(
  encoded: unknown,
  rows: readonly CallRow[],
): Extract<CallResult, { status: 'question' }>['question'] {
  const ask = Array.isArray(encoded)
    ? 'embed'
    : typeof encoded === 'object' && encoded !== null && 'labels' in encoded
      ? 'choose'
      : typeof encoded === 'object' && encoded !== null && 'about' in encoded
        ? 'decide'
        : isServiceLike(encoded)
          ? 'service'
          : 'generate'
  try {
    return checkQuestion(ask, encoded, rows)
  } catch {
    throw new MalformedMessage('a question is malformed')
  }
}

function readQuestions(encoded: unknown, rows: readonly CallRow[]): PartQuestions {
  try {
    const { questions } = encoded as Partial<PartQuestions>
    const isDecided = Array.isArray(questions) && questions.some(isPartDecision)
    return checkQuestions(isDecided ? 'decide' : 'generate', encoded, rows, 1)
  } catch {
    throw new MalformedMessage('questions are malformed')
  }
}

const isServiceLike = (encoded: unknown): boolean =>
  typeof encoded === 'object' && encoded !== null && 'kind' in encoded && encoded.kind === 'service'

function readExecution(encoded: unknown): Execution {
  try {
    return checkExecution(encoded)
  } catch {
    throw new MalformedMessage('a program is malformed')
  }
}

const kinds: readonly unknown[] = Object.keys({
  rule: true,
  'group-rule': true,
  model: true,
  pair: true,
  list: true,
  questions: true,
  'group-questions': true,
  program: true,
} satisfies Record<FunctionKind, true>)
const asks: readonly unknown[] = [null, ...askNames]

function readDescription(encoded: unknown, name: string): JobResult {
  const { kind, ask, critique, truthSchema, optionsSchema } = objectOf(
    encoded,
    'a description is not an object',
  )
  if (!kinds.includes(kind) || !asks.includes(ask))
    throw new MalformedMessage('a description is of unknown kind')
  const description = { name, kind, ask, critique: critique === true, truthSchema, optionsSchema }
  return { type: 'described', description: description as EncodedOther['described'] & object }
}

function readBound(encoded: unknown): JobResult {
  const { range, parts, reply, thinking } = objectOf(encoded, 'bound options are not an object')
  const [low = Number.NaN, high = Number.NaN] = listOf(range, 'a range is not a list').map(Number)
  if (!(low <= high)) throw new MalformedMessage('a range is not two ascending numbers')
  const limits: Range = [low, high]
  const names = listOf(parts, 'parts are not a list').map((part) =>
    textOf(part, 200, 'a part is not a string'),
  )
  const read =
    reply === undefined ? {} : { reply: objectOf(reply, 'a reply is not an object') as unknown as Reply }
  const shown: { readonly thinking?: Thinking } =
    thinking === undefined ? {} : { thinking: thinking === 'opened' ? 'opened' : 'auto' }
  return { type: 'bound', bound: { range: limits, parts: names, ...read, ...shown } }
}

function readRefused(encoded: unknown): JobResult {
  const problems = listOf(encoded, 'problems are not a list').map((problem) => {
    const { path, message } = objectOf(problem, 'a problem is not an object')
    return {
      path: textOf(path, longestText, 'a place is not a string'),
      message: textOf(message, longestText, 'a message is not a string'),
    }
  })
  return { type: 'refused', problems }
}

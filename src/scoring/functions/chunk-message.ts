/**
 * Chunks as threads exchange them: one column for each field of their samples. With an object for each row, a batch whose rule
 * runs in a thread costs 15 % more (`npm run against`).
 */
import type { Asks } from '../../contract/index.ts'
import type { Sample, Score } from '../../core/sample/sample.ts'
import type { Call, CallRow } from './function-host.ts'
import type { Chunk, ChunkResult, FunctionJob, JobResult } from './job.ts'

/** The fields of a sample that have no column. */
type Rest = Omit<Sample, 'id' | 'prompt' | 'response' | 'groundTruth' | 'dataSource'>

/** Consecutive calls of one hook, one row each, in columns. */
interface Calls {
  readonly type: 'calls'
  readonly name: string
  readonly op: Call['op']
  readonly options: string
  readonly ids: string[]
  readonly prompts: Sample['prompt'][]
  readonly responses: string[]
  readonly truths: Sample['groundTruth'][]
  readonly sources: (string | null)[]
  /** null: the sample has nothing of all this. */
  readonly rests: (Rest | null)[]
  /** null: no earlier step. */
  readonly earlier: (CallRow['earlier'] | null)[]
  /** Empty, except with `postprocess`. */
  readonly answers: Call['answer'][]
}

/** Calls in columns, and any other job as it is. */
export type ChunkMessage = readonly (Calls | FunctionJob)[]

/** Encodes a chunk. */
export function packChunk(chunk: Chunk): ChunkMessage {
  const parcels: (Calls | FunctionJob)[] = []
  let calls: Calls | null = null
  for (const job of chunk) {
    const isPlain = job.type === 'call' && job.at === undefined && job.found === undefined
    const row = isPlain && job.rows.length === 1 ? job.rows[0] : undefined
    if (job.type !== 'call' || !row) {
      parcels.push(job)
      calls = null
      continue
    }
    if (calls?.name !== job.name || calls.op !== job.op || calls.options !== job.options) {
      calls = noCalls(job)
      parcels.push(calls)
    }
    add(calls, row, job.answer)
  }
  return parcels
}

/** Decodes a chunk, in order. */
export function unpackChunk(message: ChunkMessage): Chunk {
  const jobs: FunctionJob[] = []
  for (const parcel of message) {
    if (parcel.type !== 'calls') {
      jobs.push(parcel)
      continue
    }
    const { name, op, options, ids, answers } = parcel
    for (let at = 0; at < ids.length; at++) {
      const rows = [rowAt(parcel, at)]
      jobs.push(
        op === 'postprocess'
          ? { type: 'call', name, op, options, rows, answer: answers[at] as Asks['generate']['answer'] }
          : { type: 'call', name, op, options, rows },
      )
    }
  }
  return jobs
}

const noCalls = ({ name, op, options }: Extract<FunctionJob, { type: 'call' }>): Calls => ({
  type: 'calls',
  name,
  op,
  options,
  ids: [],
  prompts: [],
  responses: [],
  truths: [],
  sources: [],
  rests: [],
  earlier: [],
  answers: [],
})

function add(calls: Calls, { sample, earlier }: CallRow, answer: Call['answer']): void {
  calls.ids.push(sample.id)
  calls.prompts.push(sample.prompt)
  calls.responses.push(sample.response)
  calls.truths.push(sample.groundTruth)
  calls.sources.push(sample.dataSource ?? null)
  calls.rests.push(isBare(sample) ? null : restOf(sample))
  calls.earlier.push(isEmpty(earlier) ? null : earlier)
  if (calls.op === 'postprocess') calls.answers.push(answer)
}

function restOf(sample: Sample): Rest {
  const {
    id: _id,
    prompt: _prompt,
    response: _response,
    groundTruth: _truth,
    dataSource: _source,
    ...rest
  } = sample
  return rest
}

const nothing = Object.freeze({})
const bare: Rest = { rmPrompts: nothing, extraInfo: nothing, hasExtraInfo: false }

const isBare = (sample: Sample): boolean =>
  sample.hasExtraInfo === false &&
  sample.rmPrompt === undefined &&
  sample.group === undefined &&
  sample.flags === undefined &&
  sample.turns === undefined &&
  sample.segments === undefined &&
  sample.status === undefined &&
  sample.tokens === undefined &&
  sample.policyVersion === undefined &&
  sample.trainingStep === undefined &&
  sample.environment === undefined &&
  isEmpty(sample.rmPrompts)

function isEmpty(object: object): boolean {
  for (const _key in object) return false
  return true
}

function rowAt(calls: Calls, at: number): CallRow {
  const dataSource = calls.sources[at]
  const sample = {
    id: calls.ids[at] as string,
    prompt: calls.prompts[at] as string,
    response: calls.responses[at] as string,
    groundTruth: calls.truths[at] as Sample['groundTruth'],
    ...(calls.rests[at] ?? bare),
  }
  return {
    sample: typeof dataSource === 'string' ? Object.assign(sample, { dataSource }) : sample,
    earlier: calls.earlier[at] ?? nothing,
  }
}

/** Results as they are sent back. All results that are a single score travel as one text. */
export interface ResultMessage {
  readonly ms: readonly number[]
  /** JSON text of the scores; null: the result is in `others`. Small objects travel faster as text. */
  readonly scores: string
  /** In order. */
  readonly others: readonly JobResult[]
}

/** Encodes results. */
export function packResults({ results, ms }: ChunkResult): ResultMessage {
  const scores: (Score | null)[] = []
  const others: JobResult[] = []
  for (const result of results) {
    const score = soleScore(result)
    if (!score) others.push(result)
    scores.push(score)
  }
  return { ms, scores: JSON.stringify(scores), others }
}

/** Decodes results, in order. */
export function unpackResults({ ms, scores, others }: ResultMessage): ChunkResult {
  let next = 0
  const results = (JSON.parse(scores) as (Score | null)[]).map(
    (score): JobResult =>
      score
        ? { type: 'called', result: { status: 'verdicts', verdicts: [score] } }
        : (others[next++] as JobResult),
  )
  return { results, ms }
}

function soleScore(result: JobResult): Score | null {
  if (result.type !== 'called' || result.error !== undefined || result.result.status !== 'verdicts')
    return null
  const { verdicts } = result.result
  return verdicts.length === 1 ? (verdicts[0] ?? null) : null
}

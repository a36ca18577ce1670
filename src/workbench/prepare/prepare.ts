/**
 * Converts source rows to training rows. Its family parses each row, the reward scores its right and its
 * wrong answer, and the row is written or dropped with a reason. The output files appear only when all rows
 * are done.
 */

import { createHash } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { makeFolder } from '../../core/make-folder.ts'
import type { Json, Outcome, Sample, Unreadable } from '../../core/sample/sample.ts'
import type { Gateway } from '../../scoring/gateway/gateway.ts'
import { unwritable } from '../dataset/files.ts'
import { type Lengths, LengthTally } from '../dataset/lengths.ts'
import { isObject } from '../dataset/row.ts'
import { beginRowFile, type RowFile } from '../dataset/row-file.ts'
import { ignorance, samplesOf } from '../dataset/samples.ts'
import { type Family, type FamilyOptions, type ParsedRow, Unusable } from './family.ts'
import { assignSplits, type Split, writeSplits } from './splits.ts'

/** A source row and its position. `value` is undefined if the line is not JSON. */
export interface SourceItem {
  readonly value: unknown
  readonly file: string
  /** From 1. */
  readonly row: number
}

export interface PrepareJob {
  readonly family: Family
  readonly options: FamilyOptions
  readonly items: AsyncIterable<SourceItem> | Iterable<SourceItem>
  /** Scores the family's answers. */
  readonly gateway: Gateway
  readonly reward: string
  readonly folder: string
  readonly files: readonly ('parquet' | 'jsonl')[]
  readonly splits: readonly Split[]
  readonly seed: number
  /** The maximum number of rows to write. Later rows are not read. */
  readonly maxRows: number
  readonly signal: AbortSignal
  onProgress?(rows: number, dropped: number): void
}

export interface Prepared {
  readonly read: number
  /** The number of rows in each split. */
  readonly written: Readonly<Record<string, number>>
  /** The number of rows for each reason. */
  readonly dropped: Readonly<Record<string, number>>
  /** Rows without a right answer. Only their ground truth was checked. */
  readonly withoutGold: number
  readonly lengths: { readonly prompt: Lengths | null; readonly answer: Lengths | null }
  readonly paths: readonly string[]
}

const batchSize = 128

/** Rejects with the signal's reason or RG_INPUT_INVALID, and then leaves no files behind. */
export async function prepare(job: PrepareJob): Promise<Prepared> {
  await makeFolder(job.folder).catch(unwritable)
  const kept = await beginRowFile(join(job.folder, '.rows.jsonl'))
  const dropped = await beginRowFile(join(job.folder, 'dropped.jsonl'))
  try {
    const tally = await sorted(job, kept, dropped)
    await kept.close()
    const assigned = assignSplits(job.splits, tally.written, job.seed)
    const { folder, splits, files, signal } = job
    const columns = columnsOf(job.family)
    const { paths, counts } = await writeSplits(kept.path, {
      folder,
      splits,
      assigned,
      files,
      columns,
      signal,
    })
    if (Object.keys(tally.dropped).length > 0) await dropped.publish()
    else await rm(join(folder, 'dropped.jsonl'), { force: true })
    const { written: _, ...rest } = tally
    return { ...rest, written: counts, paths }
  } finally {
    await Promise.all([kept.remove(), dropped.remove()])
  }
}

type Tally = Omit<Prepared, 'written' | 'paths'> & { readonly written: number }

async function sorted(job: PrepareJob, kept: RowFile, dropped: RowFile): Promise<Tally> {
  const reasons = new Map<string, number>()
  const [prompts, answers] = [new LengthTally(), new LengthTally()]
  const known = new Set<string>()
  let [read, written, withoutGold] = [0, 0, 0]
  const drop = async ({ file, row }: SourceItem, reason: string) => {
    reasons.set(reason, (reasons.get(reason) ?? 0) + 1)
    await dropped.write(JSON.stringify({ file, row, reason }))
  }
  const take = async (batch: readonly (readonly [SourceItem, Candidate])[]) => {
    const candidates = batch.map(([, candidate]) => candidate)
    const faults = await faultsOf(job.gateway, job.reward, candidates, job.signal)
    for (const [at, [item, { reading, row }]] of batch.entries()) {
      const fault = faults[at] ?? null
      if (fault !== null) await drop(item, fault)
      else if (written < job.maxRows) {
        written++
        if (reading.gold === null) withoutGold++
        else answers.add(reading.gold)
        prompts.add(reading.prompt.map(({ content }) => content).join('\n'))
        await kept.write(JSON.stringify(row))
      }
    }
    job.onProgress?.(batch.length, faults.filter((fault) => fault !== null).length)
  }
  let batch: (readonly [SourceItem, Candidate])[] = []
  for await (const item of job.items) {
    job.signal.throwIfAborted()
    read++
    const candidate = candidateOf(job, item, read - 1, known)
    if (typeof candidate === 'string') await drop(item, candidate)
    else batch.push([item, candidate])
    // Limited to the rows that may still be written, so that later rows do not count as read.
    if (batch.length < Math.min(batchSize, job.maxRows - written)) continue
    await take(batch)
    batch = []
    if (written >= job.maxRows) break
  }
  if (batch.length > 0) await take(batch)
  const lengths = { prompt: prompts.lengths(), answer: answers.lengths() }
  return { read, written, withoutGold, dropped: Object.fromEntries(reasons), lengths }
}

/** Returns the row as it would be written, or the reason why it is dropped. */
function candidateOf(
  { family, options }: PrepareJob,
  { value }: SourceItem,
  index: number,
  known: Set<string>,
): Candidate | string {
  if (!isObject(value)) return value === undefined ? 'the line is not JSON' : 'the row is not an object'
  try {
    const reading = family.read(value, options)
    const { prompt, groundTruth, extraInfo } = reading
    const identity = createHash('sha256')
      .update(JSON.stringify([prompt, groundTruth, extraInfo]))
      .digest('base64')
    if (known.has(identity)) return 'it repeats an earlier row'
    known.add(identity)
    return { reading, row: trainingRow(reading, family, index) }
  } catch (error) {
    if (error instanceof Unusable) return error.message
    throw error
  }
}

/** A parsed row, before the reward has scored its answers. */
interface Candidate {
  readonly reading: ParsedRow
  readonly row: Readonly<Record<string, Json>>
}

const rounding = 1e-9

/**
 * For each candidate, the reason to drop it. null: the reward accepts its ground truth and gives full marks
 * to its right answer.
 */
async function faultsOf(
  gateway: Gateway,
  reward: string,
  candidates: readonly Candidate[],
  signal: AbortSignal,
): Promise<readonly (string | null)[]> {
  const rows = candidates.flatMap(({ reading, row }, at) => [
    answering(row, reading.gold ?? ignorance, `${at}/gold`),
    answering(row, reading.nearMiss ?? ignorance, `${at}/near`),
  ])
  const { outcomes } = await gateway.score({ reward, rows, signal })
  signal.throwIfAborted()
  return candidates.map(({ reading }, at) =>
    faultOf(gateway, reward, reading, outcomes[2 * at] as Outcome, outcomes[2 * at + 1] as Outcome),
  )
}

function answering(row: Candidate['row'], response: string, id: string): Sample | Unreadable {
  const [sample] = samplesOf({ value: { ...row, id, group_id: id, response }, literals: [] }, 0, [])
  return sample as Sample | Unreadable
}

function faultOf(
  gateway: Gateway,
  reward: string,
  { gold, nearMiss, fullMarks }: ParsedRow,
  right: Outcome,
  near: Outcome,
): string | null {
  if (!right.valid) return `the reward rejects the row: ${right.failure.detail}`
  const bad = right.flags.find((flag) => flag.includes('bad_'))
  if (bad !== undefined) return `the row cannot be graded: ${reasonOf(right) ?? bad}`
  if (gold === null) return null
  const wanted = fullMarks ?? upperEnd(gateway, reward, right)
  if (right.reward < wanted - rounding) {
    const reason = reasonOf(right)
    return `the right answer earns ${right.reward} of ${wanted}${reason ? ` (${reason})` : ''}`
  }
  const isPaid = nearMiss !== null && near.valid && near.reward >= right.reward - rounding
  return isPaid ? 'a wrong answer earns as much as the right one' : null
}

/** The upper end of the range of the rule that scored the answer. */
function upperEnd(gateway: Gateway, reward: string, { terms }: Outcome): number {
  const scored = terms.find(({ status }) => status === 'scored')
  const step = gateway.reward(reward).steps.find(({ name }) => name === scored?.name)
  return step ? step.function.range[1] * step.weight(undefined) : 0
}

function reasonOf({ terms }: Outcome): string | null {
  for (const term of terms) {
    const reason = term.status === 'scored' ? term.score.details?.reason : undefined
    if (typeof reason === 'string') return reason
  }
  return null
}

/** A row in verl's format. `check` and `audit` compare `answer` and `near_miss`. */
export function trainingRow(
  { dataSource, prompt, groundTruth, extraInfo, rmPrompts = [], gold, nearMiss }: ParsedRow,
  { ability }: Pick<Family, 'ability'>,
  index: number,
): Readonly<Record<string, Json>> {
  return {
    data_source: dataSource,
    prompt: prompt.map(({ role, content }) => ({ role, content })),
    ability,
    reward_model: { style: 'rule', ground_truth: groundTruth },
    extra_info: { split: null, index, ...extraInfo, answer: gold, near_miss: nearMiss },
    ...Object.fromEntries(rmPrompts.map((text, at) => [`rm_prompt_${at}`, text])),
  }
}

/** The SQL types of the columns. */
function columnsOf({ columns, rmPrompts }: Family): Readonly<Record<string, string>> {
  const own = Object.entries(columns.extraInfo).map(([name, type]) => `${name} ${type}`)
  const extra = ['split VARCHAR', '"index" BIGINT', ...own, 'answer VARCHAR', 'near_miss VARCHAR']
  return {
    data_source: 'VARCHAR',
    prompt: 'STRUCT(role VARCHAR, content VARCHAR)[]',
    ability: 'VARCHAR',
    reward_model: `STRUCT(style VARCHAR, ground_truth ${columns.groundTruth})`,
    extra_info: `STRUCT(${extra.join(', ')})`,
    ...Object.fromEntries(Array.from({ length: rmPrompts }, (_, at) => [`rm_prompt_${at}`, 'VARCHAR'])),
  }
}

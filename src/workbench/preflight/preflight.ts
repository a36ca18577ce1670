/**
 * Preflight finds problems before a training run: in the data's columns and texts, in ground truths that the
 * rules reject, in the judges' questions, and in the rewards of a policy's first answers. Judges are asked
 * only about a policy's answers.
 */

import { basename } from 'node:path'
import { promptText } from '../../core/sample/sample.ts'
import { seeded } from '../../core/statistics/random.ts'
import { extent } from '../../core/statistics/summary.ts'
import { type Lengths, LengthTally } from '../dataset/lengths.ts'
import { eachRow, type RowSource } from '../dataset/row.ts'
import { knownAnswers, modelStepNames } from '../dataset/samples.ts'
import { ContentCheck } from './contents.ts'
import { type Finding, Findings } from './finding.ts'
import type { OpenedReward } from './opened-reward.ts'
import { QuestionCheck, type ShownQuestion } from './questions.ts'
import {
  ColumnCheck,
  checkLeaks,
  checkTexts,
  DuplicateCheck,
  type Item,
  RubricCheck,
  readsRubrics,
  turnsOf,
} from './row-checks.ts'
import { type Probe, probe, type Sampled } from './signal-probe.ts'
import { type Level, TruthCheck } from './truths.ts'

/** What preflight looks at. */
export interface PreflightJob {
  readonly opened: OpenedReward
  readonly files: readonly { readonly path: string; readonly source: RowSource }[]
  /** The column of the right answers. null: `extra_info.answer` or the row's `response`. */
  readonly goldPath: string | null
  /** The length of answers in training, in tokens. null: the length of the right answers. */
  readonly answerTokens: number | null
  /** The maximum number of rows of each file. Infinity: all rows. */
  readonly maxRows: number
  readonly sampled: Sampled | null
  /** The number of prompts for the policy. */
  readonly probed: number
  readonly seed: number
  readonly signal: AbortSignal
  onProgress?(rows: number): void
}

/** The results, as plain data. `check --format json` prints them. */
export interface Report {
  readonly reward: string
  readonly version: string
  readonly files: readonly string[]
  readonly rows: number
  /** By severity. */
  readonly findings: readonly Finding[]
  /** The rewards of right answers under the rules, by data source. */
  readonly levels: Readonly<Record<string, readonly Level[]>>
  /** The number of rows that hold more than texts, by what they hold. */
  readonly contents: Readonly<Record<string, number>>
  /** The lengths of the prompts. null if there are none. */
  readonly lengths: Lengths | null
  /** The questions about the first three rows. */
  readonly questions: readonly ShownQuestion[]
  /** null: no policy was asked, or no answer could be scored. */
  readonly probe: Probe | null
}

const batchSize = 64

/** Rejects with the signal's reason or RG_INPUT_INVALID. Problems with rows and servers become findings. */
export async function preflight(job: PreflightJob): Promise<Report> {
  const { opened, signal } = job
  const findings = new Findings()
  const columns = new ColumnCheck(opened.plan, findings)
  const repeats = new DuplicateCheck(findings, readsRubrics(opened.plan))
  const truths = new TruthCheck(opened, findings)
  const questions = new QuestionCheck(opened, findings, job.answerTokens, signal)
  const contents = new ContentCheck(opened, findings)
  const rubrics = new RubricCheck(opened.plan, findings)
  const chosen = new Reservoir<Item>(job.probed, seeded(job.seed))
  const lengths = new LengthTally()
  let rows = 0
  for await (const batch of batchesOf(job, findings)) {
    signal.throwIfAborted()
    rows += batch.rows
    for (const item of batch.items) {
      columns.look(item)
      checkTexts(item, findings)
      repeats.look(item)
      rubrics.look(item)
      checkLeaks(item, findings)
      chosen.add(item)
      lengths.add(promptText(turnsOf(item)))
    }
    // Scoring frees the bytes of images, so that questions come first.
    await questions.look(batch.items)
    await contents.look(batch.items, signal)
    await truths.look(batch.items, signal)
    job.onProgress?.(batch.rows)
  }
  if (rows === 0) findings.add('missing-column', 'there are no rows')
  columns.end()
  questions.end()
  const levels = truths.end()
  const full = fullMarks(levels)
  const found =
    job.sampled && chosen.items.length > 0
      ? await probe(opened, chosen.items, job.sampled, full, findings, signal)
      : null
  const { name: reward, version } = opened.plan
  return {
    reward,
    version,
    files: job.files.map(({ path }) => path),
    rows,
    findings: findings.list(),
    levels,
    contents: contents.counts,
    lengths: lengths.lengths(),
    questions: questions.shown,
    probe: found,
  }
}

/** The highest reward of a right answer under the rules. Judges may add to it. */
function fullMarks(levels: Report['levels']): number {
  const [, best] = extent(Object.values(levels).flatMap((own) => own.map(({ reward }) => reward)))
  return Number.isFinite(best) && best > 0 ? best : 1
}

interface Batch {
  readonly rows: number
  readonly items: readonly Item[]
}

async function* batchesOf(
  { opened, files, goldPath, maxRows }: PreflightJob,
  findings: Findings,
): AsyncGenerator<Batch> {
  const modelSteps = modelStepNames(opened.plan.steps)
  for (const { path, source } of files) {
    if (source.leftOut && source.leftOut.length > 0)
      findings.add('unread-column', `columns of bytes are not read: ${source.leftOut.join(', ')}`)
    let [number, items, rows] = [0, [] as Item[], 0]
    for await (const raw of eachRow(source)) {
      if (number >= maxRows) break
      const place = files.length === 1 ? String(number + 1) : `${basename(path)}:${number + 1}`
      const known = knownAnswers(raw, number++, modelSteps, goldPath)
      rows++
      if (typeof known === 'string') findings.add('unreadable-row', known, place)
      else items.push({ ...known, place, sample: { ...known.sample, id: place } })
      if (rows < batchSize) continue
      yield { rows, items }
      items = []
      rows = 0
    }
    if (rows > 0) yield { rows, items }
  }
}

/** A uniform random sample of `size` items from a stream. */
class Reservoir<T> {
  readonly items: T[] = []
  readonly #size: number
  readonly #random: () => number
  #seen = 0

  constructor(size: number, random: () => number) {
    this.#size = size
    this.#random = random
  }

  add(item: T): void {
    this.#seen++
    if (this.items.length < this.#size) this.items.push(item)
    else {
      const at = Math.floor(this.#random() * this.#seen)
      if (at < this.#size) this.items[at] = item
    }
  }
}

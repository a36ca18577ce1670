import { stat } from 'node:fs/promises'
import { GatewayError } from '../../core/errors.ts'
import { jsonLine } from '../../core/json/text.ts'
import { packageVersion } from '../../core/package-version.ts'
import type { Outcome, Sample, Unreadable } from '../../core/sample/sample.ts'
import type { Gateway } from '../../scoring/gateway/gateway.ts'
import { declaredRange } from '../../scoring/plan/fold.ts'
import { type NativeResult, writeNativeResult } from '../../trainers/native-result.ts'
import { batchesOf, groupOf, inOrder } from '../../workbench/dataset/batches.ts'
import { checkReadable } from '../../workbench/dataset/files.ts'
import { eachRow, type RawRow, type RowSource } from '../../workbench/dataset/row.ts'
import { openRows } from '../../workbench/dataset/rows.ts'
import { modelStepNames, samplesOf } from '../../workbench/dataset/samples.ts'
import {
  earlierResults,
  isStream,
  type Keep,
  keptSample,
  openScoredFile,
  plainOutput,
  type ScoredFile,
} from '../../workbench/dataset/scored-file.ts'
import type { Io } from '../command.ts'
import { type Progress, progressLine } from '../progress.ts'

/** A file to score, or to continue. */
interface ScoreFileJob {
  readonly gateway: Gateway
  readonly reward: string
  readonly input: string
  readonly output: string
  /** Rows per request to the engine. Groups are not split. */
  readonly batch: number
  /** Continues the unfinished file of an earlier run. */
  readonly resume: boolean
  /** Scores only the rows that have no reward in `output`. */
  readonly failedOnly: boolean
  readonly keep: Keep
  /** Judge calls so far, for the progress line. */
  calls(): number
  /** The share of rows that may be without a reward. */
  readonly allowInvalid: number
  /** Prefix for messages about the rows. Absent: only one file is scored. */
  readonly label?: string
}

/** Refuses to overwrite the samples with their results. */
async function checkApart(input: string, output: string): Promise<void> {
  if (isStream(input) || isStream(output)) return
  const [from, to] = await Promise.all(
    [input, output].map((path) => stat(path, { bigint: true }).catch(() => null)),
  )
  if (from?.isFile() && to && from.dev === to.dev && from.ino === to.ino)
    throw new GatewayError(
      'RG_INPUT_INVALID',
      `${output}: is also the input; choose another file for the output`,
    )
}

const batchesInFlight = 4

/** Concurrent batches, and rows per batch, that fit into `limits.max_samples`. Longer groups are split. */
function roomOf({ settings }: Gateway): { readonly batches: number; readonly rows: number } {
  const { max_samples: most } = settings.limits
  const batches = Math.min(batchesInFlight, most)
  return { batches, rows: Math.floor(most / batches) }
}

/**
 * Exit code 0, or 1 if too many rows have no reward or a signal stopped the run. The results so far are kept for
 * --resume. Throws RG_INPUT_INVALID.
 */
export async function scoreFile(job: ScoreFileJob, io: Io): Promise<number> {
  const { input } = job
  await checkApart(input, job.output)
  const source = await openRows(input, io.stdin)
  if (source.leftOut && source.leftOut.length > 0)
    io.stderr.write(`note: columns of bytes are not read: ${source.leftOut.join(', ')}\n`)
  // Before a partial file is created, which would make the next run fail.
  if (job.failedOnly && !isStream(job.output)) await checkReadable(job.output)
  const file = await openOutput(job, io)
  const share = new ScoredShare(source)
  const progress = progressLine(io, {
    fraction: (scored) => share.of(scored),
    calls: () => job.calls(),
    done: file.done,
  })
  const losses = new Losses()
  // The summary covers the whole file, so count the results of an earlier run as well.
  if (file.partial !== null && file.done > 0)
    for await (const { value } of eachRow(await openRows(file.partial, io.stdin)))
      losses.add(value as NativeResult)
  const room = roomOf(job.gateway)
  const works = async function* () {
    for await (const items of batchesOf(itemsOf(job, share, file.done, io), job.batch, room.rows))
      yield () => linesOf(job, items, progress, losses, io.signal)
  }
  try {
    await inOrder(works(), room.batches, io.signal, (lines) => file.write(lines))
  } catch (error) {
    const left = await file.leave()
    progress.end()
    if (!io.signal.aborted) throw error
    if (left)
      io.stderr.write(`stopped; the results so far are in ${left}, and --resume continues with them\n`)
    return 1
  }
  await file.finish()
  progress.end()
  const label = job.label === undefined ? '' : `${job.label}: `
  const where = job.output === '-' || job.label !== undefined ? '' : `, ${job.output}`
  io.stderr.write(`${losses.lost > 0 ? `${label}${losses.text()}` : ''}${label}${losses.summary()}${where}\n`)
  return losses.share > job.allowInvalid ? 1 : 0
}

async function openOutput(
  { gateway, reward, input, output, ...job }: ScoreFileJob,
  io: Io,
): Promise<ScoredFile> {
  const { version } = gateway.reward(reward)
  if (!isStream(output)) return openScoredFile(output, { reward, version, input }, job.resume)
  if (!job.resume && !job.failedOnly) return plainOutput(output === '-' ? null : output, io.stdout)
  throw new GatewayError('RG_COMMAND_INVALID', '--resume and --failed-only need an --output that is a file')
}

interface Item {
  readonly row: Sample | Unreadable
  /** The row's result in the file that is scored again. */
  readonly before: { readonly id?: unknown; readonly valid?: unknown } | null
}

/** The share of a file that is scored. Rows that wait for a judge are read long before. */
class ScoredShare {
  readonly #source: RowSource
  /** Lines that were read, lines that were taken from these, and their samples: a line may hold several. */
  #read = 0
  #taken = 0
  #samples = 0

  constructor(source: RowSource) {
    this.#source = source
  }

  async *rows(): AsyncGenerator<RawRow> {
    for await (const piece of this.#source) {
      this.#read += piece.length
      for (const row of piece) {
        this.#taken += 1
        yield row
      }
    }
  }

  /** Counts the samples of the row that was taken last. */
  add(samples: number): void {
    this.#samples += samples
  }

  /** With this many scored samples, 0 to 1. null if the file's length is unknown. */
  of(scored: number): number | null {
    const read = this.#source.fraction()
    if (read === null) return null
    const samples = this.#taken === 0 ? 0 : (this.#samples / this.#taken) * this.#read
    return samples === 0 ? 0 : Math.min(1, read * (scored / samples))
  }
}

async function* itemsOf(job: ScoreFileJob, share: ScoredShare, done: number, io: Io): AsyncGenerator<Item> {
  const modelSteps = modelStepNames(job.gateway.reward(job.reward).steps)
  const earlier = job.failedOnly ? await earlierResults(job.output, io.stdin) : null
  let [index, seen] = [0, 0]
  for await (const raw of share.rows()) {
    const rows = samplesOf(raw, index++, modelSteps)
    share.add(rows.length)
    for (const row of rows) {
      const [before = null] = earlier ? await earlier.next([row.id]) : []
      if (seen++ >= done) yield { row, before: before as Item['before'] }
    }
  }
}

async function linesOf(
  { gateway, reward, keep }: ScoreFileJob,
  items: readonly Item[],
  progress: Progress,
  losses: Losses,
  signal: AbortSignal,
): Promise<string> {
  // Answers of one group are scored together or not at all.
  const failed = new Set(
    items.flatMap(({ row, before }) => (before?.valid === true ? [] : [groupOf(row) ?? row])),
  )
  const again = items.filter(({ row }) => failed.has(groupOf(row) ?? row))
  const { outcomes } = await gateway.score({ reward, rows: again.map(({ row }) => row), signal })
  signal.throwIfAborted()
  const fresh = new Map<Item, Outcome>(again.map((item, at) => [item, outcomes[at] as Outcome]))
  const plan = gateway.reward(reward)
  const config = keep !== 'none' && {
    config: { reward, version: plan.version, gateway: packageVersion, range: declaredRange(plan) },
  }
  progress.add(items.length, outcomes.filter(({ valid }) => !valid).length)
  return items
    .map((item) => {
      const outcome = fresh.get(item)
      const result = outcome
        ? { ...writeNativeResult(outcome), ...config, ...keptSample(keep, item.row) }
        : item.before
      losses.add(result as NativeResult)
      return jsonLine(result)
    })
    .join('')
}

/** Maximum number of causes of one kind that are reported separately. The rest are counted together. */
const mostCauses = 6

/** The fields of a result that the summary needs. */
type Scored = Pick<NativeResult, 'id' | 'reward' | 'valid' | 'failure'>

interface Cause {
  count: number
  readonly kind: string
  /** The first row and its failure. */
  readonly first: string
}

/** Summary of a file: how many rows have a reward, the mean reward, and why rows have none. */
export class Losses {
  rows = 0
  lost = 0
  #sum = 0
  readonly #causes = new Map<string, Cause>()
  readonly #causesOfKind = new Map<string, number>()

  add({ id, reward, valid, failure }: Scored): void {
    this.rows++
    if (valid && reward !== null) {
      this.#sum += reward
      return
    }
    this.lost++
    const { kind, detail, step } = failure ?? { kind: 'unknown', detail: 'the result has no failure' }
    // Numbers in a detail are specific to the row, e.g. 'at position 17'.
    const cause = `${kind}\n${step ?? ''}\n${detail.replace(/\d+/g, '#')}`
    const known = this.#causes.get(cause) ?? this.#causes.get(kind)
    if (known) {
      known.count++
      return
    }
    const causes = (this.#causesOfKind.get(kind) ?? 0) + 1
    this.#causesOfKind.set(kind, causes)
    const at = step === undefined ? '' : `, step ${step}`
    const first = `row '${id}'${at}: ${detail}`
    if (causes <= mostCauses) this.#causes.set(cause, { count: 1, kind, first })
    else this.#causes.set(kind, { count: 1, kind: `${kind} for other causes`, first })
  }

  /** The share of rows without a reward; 0 if there are no rows. */
  get share(): number {
    return this.rows === 0 ? 0 : this.lost / this.rows
  }

  /** One line for each cause, after a line with the counts; '' if all rows have a reward. */
  text(): string {
    if (this.lost === 0) return ''
    const lines = [...this.#causes.values()].map(
      ({ kind, count, first }) => `  ${count} ${kind}, first ${first}\n`,
    )
    return `${this.lost} of ${this.rows} rows ${this.lost === 1 ? 'has' : 'have'} no reward:\n${lines.join('')}`
  }

  /** `2,000 rows, 5 invalid, mean 0.7` */
  summary(): string {
    const scored = this.rows - this.lost
    const mean = scored === 0 ? 'no mean' : `mean ${Number((this.#sum / scored).toPrecision(4))}`
    return `${grouped(this.rows)} ${this.rows === 1 ? 'row' : 'rows'}, ${grouped(this.lost)} invalid, ${mean}`
  }
}

const grouped = (count: number): string => String(count).replace(/\B(?=(\d{3})+$)/g, ',')

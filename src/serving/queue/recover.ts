/**
 * Reads a run's log after a start. Every record has a number. A missing number means that a record was damaged: the log cannot say
 * which, so rollouts that were accepted before it and seem to have no final are not scored. They may have one that a reader has
 * already received, or a newer attempt, or a cancellation.
 */
import { readFile, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { GatewayError } from '../../core/errors.ts'
import { segmentName, segmentsOf } from './commit-log.ts'
import { type Frame, scanFrames } from './frame.ts'
import {
  type AcceptHead,
  type AnswerHead,
  type FinalHead,
  format,
  type OpenHead,
  type PartialHead,
} from './records.ts'
import { RunState } from './run-state.ts'

/** A place in a log that cannot be read. */
export interface LogDamage {
  readonly segment: number
  /** Offset in the file. */
  readonly at: number
  readonly text: string
}

/** A log as it was found. */
export interface Recovered {
  readonly run: string
  readonly id: string
  readonly state: RunState
  readonly damage: readonly LogDamage[]
  /** Bytes behind the last record: a write that was cut off. */
  readonly tornBytes: number
  /** Segment -> its bytes. */
  readonly sizes: ReadonlyMap<number, number>
  /** Of the next record. */
  readonly number: number
}

/** null if nothing was ever written to the folder. Throws RG_CONFIG_INVALID if the log is of another version or has no readable beginning. */
export async function recoverRun(folder: string): Promise<Recovered | null> {
  const segments = await segmentsOf(folder)
  const sizes = new Map<number, number>()
  const starts = new Map<number, number>()
  let opening: OpenHead | null = null
  for (const segment of segments) {
    const { frames, length } = await scanned(folder, segment)
    const [first] = frames
    // Only a file whose creation was cut off has no record at all.
    if (!first && segment === segments.at(-1)) {
      await unlink(join(folder, segmentName(segment)))
      continue
    }
    sizes.set(segment, length)
    if (!first) continue
    starts.set(segment, Number(first.head.n))
    if (first.head.k !== 'open') continue
    const head = checked(first.head as unknown as OpenHead, folder)
    if (opening && head.id !== opening.id)
      throw new GatewayError(
        'RG_CONFIG_INVALID',
        `queue: ${join(folder, segmentName(segment))} is of another run (${head.run}) than the files before it (${opening.run}); move it away`,
      )
    opening ??= head
  }
  if (sizes.size === 0) return null
  if (!opening)
    throw new GatewayError(
      'RG_CONFIG_INVALID',
      `queue: ${folder}: the first record of each file is damaged; move the folder away`,
    )
  const { run, id } = opening
  return { run, id, sizes, ...(await replayed(folder, [...sizes.keys()], starts)) }
}

async function scanned(
  folder: string,
  segment: number,
): Promise<ReturnType<typeof scanFrames> & { length: number }> {
  const bytes = await readFile(join(folder, segmentName(segment)))
  return { ...scanFrames(bytes), length: bytes.length }
}

function checked(head: OpenHead, folder: string): OpenHead {
  if (head.format === format) return head
  throw new GatewayError(
    'RG_CONFIG_INVALID',
    `queue: ${folder} has format ${head.format}, and this version reads format ${format}`,
  )
}

async function replayed(
  folder: string,
  segments: readonly number[],
  starts: ReadonlyMap<number, number>,
): Promise<Pick<Recovered, 'state' | 'damage' | 'tornBytes' | 'number'>> {
  const state = new RunState()
  const damage: LogDamage[] = []
  let number: number | null = null
  let tornBytes = 0
  for (const [index, segment] of segments.entries()) {
    const { frames, end, length } = await scanned(folder, segment)
    const later = segments.slice(index + 1).flatMap((other) => starts.get(other) ?? [])
    const [first] = frames
    if (index === 0 && first && first.head.k !== 'open')
      damage.push({ segment, at: 0, text: `the first record of ${segmentName(segment)} is damaged` })
    for (const frame of frames) {
      const own = Number(frame.head.n)
      // A commit that failed: its records were written again, or given up.
      if (own >= Math.min(...later)) continue
      if (number !== null && own > number) {
        const text = `${own - number} records are damaged before offset ${frame.at} of ${segmentName(segment)}`
        damage.push({ segment, at: frame.at, text })
        for (const pending of state.pending) pending.damage ??= text
      }
      if (number === null || own >= number) number = own + 1
      apply(state, frame, segment, damage)
    }
    if (index === segments.length - 1) tornBytes = length - end
  }
  state.settle()
  return { state, damage, tornBytes, number: number ?? 0 }
}

function apply(
  state: RunState,
  { head, body, at, length }: Frame,
  segment: number,
  damage: LogDamage[],
): void {
  const place = { segment, at, length }
  const isDamaged = body === null
  if (isDamaged) {
    const text = `the body of a record (${head.k}) at offset ${at} of ${segmentName(segment)} is damaged`
    damage.push({ segment, at, text })
  }
  if (head.k === 'open') state.opened(head as unknown as OpenHead)
  else if (head.k === 'final') state.finished(head as unknown as FinalHead, place)
  else if (head.k === 'accept') {
    const text = isDamaged ? `its sample at offset ${at} of ${segmentName(segment)} is damaged` : null
    state.accepted(head as unknown as AcceptHead, place, body?.length ?? 0, text)
  }
  // A damaged answer is asked for again, and a damaged early result is found again.
  else if (head.k === 'answer' && !isDamaged) state.answered(head as unknown as AnswerHead, place)
  else if (head.k === 'partial' && !isDamaged) state.gotPartial(head as unknown as PartialHead, place)
}

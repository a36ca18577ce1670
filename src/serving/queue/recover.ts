/**
 * Reads a run's log after a start. Every record has a number. A missing number means that a record was damaged: the log cannot say
 * which, so rollouts that were accepted before it and seem to have no final are not scored. They may have one that a reader has
 * already received, or a newer attempt, or a cancellation.
 */
import { readFile, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { GatewayError } from '../../core/errors.ts'
import { segmentName, segmentsOf } from './commit-log.ts'
import { scanFrames } from './frame.ts'
import { format, type OpenHead } from './records.ts'
import { type LogDamage, Replay } from './replay.ts'
import type { RunState } from './run-state.ts'

/** A log as it was found. */
export interface Recovered {
  readonly run: string
  readonly id: string
  readonly state: RunState
  readonly damage: readonly LogDamage[]
  /** Bytes behind the last record: a write that was cut off. */
  readonly tornBytes: number
  /** What was left out or removed, in words. */
  readonly notes: readonly string[]
  /** Segment -> its bytes. */
  readonly sizes: ReadonlyMap<number, number>
  /** Of the next record. */
  readonly number: number
}

/** The first record of a file is shorter, and nothing is written behind it before it is on disk. */
const mostOpeningBytes = 4096

/** null if nothing was ever written to the folder. Throws RG_CONFIG_INVALID if the log is of another version or has no readable beginning. */
export async function recoverRun(folder: string): Promise<Recovered | null> {
  const segments = await segmentsOf(folder)
  const sizes = new Map<number, number>()
  const starts = new Map<number, number>()
  const notes: string[] = []
  let opening: OpenHead | null = null
  for (const segment of segments) {
    const { frames, length } = await scanned(folder, segment)
    const [first] = frames
    // Its creation was cut off. A longer one had records that are damaged.
    if (!first && segment === segments.at(-1) && length <= mostOpeningBytes) {
      await unlink(join(folder, segmentName(segment)))
      notes.push(`${segmentName(segment)} was removed: its first record was cut off`)
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
  const found = await replayed(folder, [...sizes.keys()], starts)
  return { run, id, sizes, ...found, notes: [...notes, ...found.notes] }
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
): Promise<Pick<Recovered, 'state' | 'damage' | 'tornBytes' | 'notes' | 'number'>> {
  const replay = new Replay()
  const notes: string[] = []
  let tornBytes = 0
  for (const [index, segment] of segments.entries()) {
    const { frames, end, length } = await scanned(folder, segment)
    const later = segments.slice(index + 1).flatMap((other) => starts.get(other) ?? [])
    const [first] = frames
    if (index === 0 && first && first.head.k !== 'open')
      replay.damage.push({ segment, at: 0, text: `the first record of ${segmentName(segment)} is damaged` })
    for (const frame of frames) {
      // A commit that failed: its records were written again, or given up.
      if (Number(frame.head.n) < Math.min(...later)) replay.read(frame, segment)
    }
    if (!first) replay.lost(segment, `no record of ${segmentName(segment)} can be read`)
    if (index < segments.length - 1 || end === length) continue
    tornBytes = length - end
    if (first)
      notes.push(
        `${tornBytes} bytes behind offset ${end} of ${segmentName(segment)} were left out: a write that was cut off`,
      )
  }
  const number = replay.end()
  const { state, damage } = replay
  return { state, damage, tornBytes, notes, number }
}

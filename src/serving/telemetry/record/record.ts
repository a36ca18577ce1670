/**
 * The record: a line a scored row, written down beside the scoring and never in its way. What a request leaves waits in a
 * bounded queue; a few rows at a time become JSON lines, are compressed and appended. What does not fit is dropped and
 * counted; a disk that fails is told of once, and scoring goes on.
 */
import { randomUUID } from 'node:crypto'
import { promisify } from 'node:util'
import { constants, gzip } from 'node:zlib'
import type { Clock } from '../../../core/clock.ts'
import { hashedShare } from '../../../core/hash.ts'
import type { ListenerGuard } from '../../../core/listener-guard.ts'
import { countBytes, type EngineEvents, type RequestDone } from '../../../scoring/engine/events.ts'
import { Draws } from './draws.ts'
import { type RowParts, recordRow } from './row.ts'
import { type SegmentLimits, Segments } from './segments.ts'
import { type TextPolicy, textKeeper } from './text-policy.ts'

/** What is recorded, of how many groups, in files of which size. */
export interface RecordSettings extends SegmentLimits {
  readonly text: TextPolicy
  /** Of the groups of each request, 0 to 1. */
  readonly share: number
}

/**
 * What the record tells of itself. `queue`: rows came faster than they are written; `disk`: they cannot be written;
 * `fault`: they cannot be made JSON of.
 */
export interface RecordEvents {
  written?(rows: number, bytes: number): void
  dropped?(rows: number, why: 'queue' | 'disk' | 'fault'): void
  /** Once when writing begins to fail, with the reason, and once (null) when it works again. */
  disk?(trouble: string | null): void
}

/** What a record tells of besides rows. */
export interface RecordParts extends Pick<RowParts, 'samplingOf'> {
  readonly clock: Clock
  /** What fails in the writing, which nobody waits for, ends there. */
  readonly guard: ListenerGuard
  readonly events?: RecordEvents
}

/** Takes what is done; it never holds a request up. */
interface Recorder extends Required<Pick<EngineEvents, 'drawn' | 'done'>> {
  /** Writes what waits, then closes its file. What comes later is dropped. */
  close(): Promise<void>
}

/** Rows that wait to become lines, and what they take in memory, whatever field it is in. A larger request waits alone. */
const maxWaiting = { rows: 65_536, bytes: 128 * 1024 * 1024 }
/** Of the questions and answers of rows that wait, or are still being scored. */
const maxDrawBytes = 128 * 1024 * 1024
/** Characters of lines that wait to be written. */
const maxUnwritten = 16 * 1024 * 1024
const flushChars = 256 * 1024
const flushMs = 1000
/** What one turn does at most, but for the row that passes it. */
const turn = { rows: 128, ms: 8 }
/** After a turn the record rests so many times as long as the turn took: scoring keeps the thread. */
const rest = 19

const compress = promisify(gzip)

/** Opens no file before the first row. */
export function openRecord(
  settings: RecordSettings,
  { clock, guard, events = {}, samplingOf }: RecordParts,
): Recorder {
  const draws = new Draws(maxDrawBytes)
  const parts: RowParts = {
    keep: textKeeper(settings.text),
    samplingOf,
    drawsOf: (sample) => draws.of(sample),
  }
  const segments = new Segments(settings, clock)
  const waiting: { event: RequestDone; id: string; time: string; next: number; bytes: number }[] = []
  let rows = 0
  let bytes = 0
  let lines: string[] = []
  let lineChars = 0
  let unwritten = 0
  let cancelTurn: (() => void) | null = null
  let cancelFlush: (() => void) | null = null
  let writing: Promise<void> = Promise.resolve()
  /** Requests of many rows that are still being weighed. */
  let weighed: Promise<unknown> = Promise.resolve()
  /** Their rows. */
  let weighing = 0
  let isFailing = false
  let isClosed = false

  const write = async (text: string, count: number): Promise<void> => {
    try {
      const bytes = await compress(text, { level: constants.Z_BEST_SPEED })
      await segments.append(bytes)
      events.written?.(count, bytes.length)
      if (isFailing) events.disk?.(null)
      isFailing = false
    } catch (error) {
      events.dropped?.(count, 'disk')
      if (!isFailing) events.disk?.((error as Error).message)
      isFailing = true
    } finally {
      unwritten -= text.length
    }
  }

  /** Each batch is a whole gzip member: a process that ends in the middle loses no earlier line. */
  const flush = (): void => {
    cancelFlush?.()
    cancelFlush = null
    if (lines.length === 0) return
    const [text, count] = [lines.join(''), lines.length]
    lines = []
    lineChars = 0
    unwritten += text.length
    writing = writing.then(() => write(text, count))
  }

  /** One row becomes a line. */
  const take = (): void => {
    const first = waiting[0]
    if (!first) return
    const { event, id, time } = first
    const index = first.next++
    rows -= 1
    if (first.next === event.rows.length) {
      waiting.shift()
      bytes -= first.bytes
    }
    if (!isSampled(event, index, id, settings.share)) {
      forget(event, index)
      return
    }
    const line = unwritten > maxUnwritten || !isWhole(event, index) ? null : lineOf(event, index, id, time)
    forget(event, index)
    if (line === null) {
      events.dropped?.(1, isFailing ? 'disk' : 'queue')
      return
    }
    lines.push(line)
    lineChars += line.length
    if (lineChars >= flushChars) flush()
  }

  const lineOf = (event: RequestDone, index: number, id: string, time: string): string =>
    `${JSON.stringify(recordRow(event, index, { id: `${id}:${index}`, time }, parts))}\n`

  /** Whether every draw of the row's questions was kept: a part of them would tell something else. */
  const isWhole = ({ rows }: RequestDone, index: number): boolean => {
    const row = rows[index]
    return !row || 'failure' in row || draws.isWhole(row)
  }

  const forget = ({ rows }: RequestDone, index: number): void => {
    const row = rows[index]
    if (row && !('failure' in row)) draws.forget(row)
  }

  /** A row that cannot be written must not end the process: nobody waits for what is done here. */
  const takeSafely = (): void =>
    guard.run('record', () => {
      try {
        take()
      } catch (error) {
        events.dropped?.(1, 'fault')
        throw error
      }
    })

  const drop = (event: RequestDone): void => {
    for (let index = 0; index < event.rows.length; index++) forget(event, index)
    events.dropped?.(event.rows.length, 'queue')
  }

  const enqueue = (event: RequestDone, time: string, held: number): void => {
    weighing -= event.rows.length
    if (waiting.length > 0 && bytes + held > maxWaiting.bytes) {
      drop(event)
      return
    }
    waiting.push({ event, id: event.requestId ?? randomUUID(), time, next: 0, bytes: held })
    rows += event.rows.length
    bytes += held
    cancelTurn ??= soon()
  }

  const soon = (): (() => void) => {
    const turn = setImmediate(work)
    return () => clearImmediate(turn)
  }

  const work = (): void => {
    const began = clock.now()
    for (let taken = 0; taken < turn.rows && rows > 0 && clock.now() - began < turn.ms; taken += 1)
      takeSafely()
    const took = clock.now() - began
    cancelTurn = rows === 0 ? null : took > 0 ? clock.after(took * rest, work) : soon()
    if (lines.length > 0) cancelFlush ??= clock.after(flushMs, flush)
  }

  return {
    drawn(event) {
      if (settings.share > 0) draws.add(event)
    },
    done(event) {
      if (settings.share === 0 || event.rows.length === 0) return
      if (isClosed || rows + weighing >= maxWaiting.rows) {
        drop(event)
        return
      }
      const time = new Date().toISOString()
      weighing += event.rows.length
      const rest = countBytes(event, (held) => enqueue(event, time, held))
      if (rest === null) return
      weighed = weighed.then(() => rest).catch(() => {})
      return rest
    },
    async close() {
      isClosed = true
      await weighed
      cancelTurn?.()
      while (rows > 0) takeSafely()
      flush()
      await writing
      try {
        await segments.close()
      } catch (error) {
        events.disk?.((error as Error).message)
      }
    },
  }
}

/** Whether a row is among the recorded share. A group of a request is recorded whole or not at all; the same ids, the same choice. */
function isSampled({ rows }: RequestDone, index: number, requestId: string, share: number): boolean {
  if (share >= 1) return true
  const row = rows[index]
  const group = row && 'group' in row ? row.group?.id : undefined
  return hashedShare(`${requestId}\n${group ?? index}`) < share
}

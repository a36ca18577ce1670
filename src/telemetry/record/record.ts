/**
 * The record: a line a scored row, written down beside the scoring and never in its way. What a request leaves waits in a
 * bounded queue; a few rows at a time become JSON lines, are compressed and appended. What does not fit is dropped and
 * counted; a disk that fails is told of once, and scoring goes on.
 */
import { randomUUID } from 'node:crypto'
import { promisify } from 'node:util'
import { constants, gzip } from 'node:zlib'
import type { Clock } from '../../clock.ts'
import type { EngineEvents, RequestDone } from '../../engine/events.ts'
import { Draws } from './draws.ts'
import { type RowParts, recordRow } from './row.ts'
import { type SegmentLimits, Segments } from './segments.ts'
import { isSampled } from './share.ts'
import { type TextPolicy, textKeeper } from './text-policy.ts'

/** What is recorded, of how many groups, in files of which size. */
export interface RecordSettings extends SegmentLimits {
  readonly text: TextPolicy
  /** Of the groups of each request, 0 to 1. */
  readonly share: number
}

/** What the record tells of itself. `queue`: rows came faster than they are written; `disk`: they cannot be written. */
export interface RecordEvents {
  written?(rows: number, bytes: number): void
  dropped?(rows: number, why: 'queue' | 'disk'): void
  /** Once when writing begins to fail, with the reason, and once (null) when it works again. */
  disk?(trouble: string | null): void
}

/** What a record tells of besides rows. */
export interface RecordParts extends Pick<RowParts, 'samplingOf'> {
  readonly clock: Clock
  readonly events?: RecordEvents
}

/** Takes what is done; it never holds a request up. */
export interface Recorder extends Required<Pick<EngineEvents, 'drawn' | 'done'>> {
  /** Writes what waits, then closes its file. What comes later is dropped. */
  close(): Promise<void>
}

/** Rows, and characters of their texts, that wait to become lines. */
const maxWaiting = { rows: 65_536, chars: 64 * 1024 * 1024 }
/** Characters of lines that wait to be written. */
const maxUnwritten = 16 * 1024 * 1024
const flushChars = 256 * 1024
const flushMs = 1000
const rowsATurn = 128
/** After a turn the record rests so many times as long as the turn took: scoring keeps the thread. */
const rest = 19

const compress = promisify(gzip)

/** Opens no file before the first row. */
export function openRecord(
  settings: RecordSettings,
  { clock, events = {}, samplingOf }: RecordParts,
): Recorder {
  const draws = new Draws()
  const parts: RowParts = {
    keep: textKeeper(settings.text),
    samplingOf,
    drawsOf: (sample) => draws.of(sample),
  }
  const segments = new Segments(settings, clock)
  const waiting: { event: RequestDone; id: string; time: string; next: number; chars: number }[] = []
  let rows = 0
  let chars = 0
  let lines: string[] = []
  let lineChars = 0
  let unwritten = 0
  let cancelTurn: (() => void) | null = null
  let cancelFlush: (() => void) | null = null
  let writing: Promise<void> = Promise.resolve()
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
      chars -= first.chars
    }
    if (!isSampled(event, index, id, settings.share)) return
    if (unwritten > maxUnwritten) {
      events.dropped?.(1, isFailing ? 'disk' : 'queue')
      return
    }
    const line = `${JSON.stringify(recordRow(event, index, { id: `${id}:${index}`, time }, parts))}\n`
    lines.push(line)
    lineChars += line.length
    if (lineChars >= flushChars) flush()
  }

  const soon = (): (() => void) => {
    const turn = setImmediate(work)
    return () => clearImmediate(turn)
  }

  const work = (): void => {
    const began = clock.now()
    for (let taken = 0; taken < rowsATurn && rows > 0; taken += 1) take()
    const took = clock.now() - began
    cancelTurn = rows === 0 ? null : took > 0 ? clock.after(took * rest, work) : soon()
    if (lines.length > 0) cancelFlush ??= clock.after(flushMs, flush)
  }

  return {
    drawn: (event) => draws.add(event),
    done(event) {
      if (settings.share === 0 || event.rows.length === 0) return
      if (isClosed || rows >= maxWaiting.rows || chars >= maxWaiting.chars) {
        events.dropped?.(event.rows.length, 'queue')
        return
      }
      const held = event.rows.reduce((sum, row) => sum + ('response' in row ? row.response.length : 0), 0)
      waiting.push({
        event,
        id: event.requestId ?? randomUUID(),
        time: new Date().toISOString(),
        next: 0,
        chars: held,
      })
      rows += event.rows.length
      chars += held
      cancelTurn ??= soon()
    },
    async close() {
      isClosed = true
      cancelTurn?.()
      while (rows > 0) take()
      flush()
      await writing
      await segments.close()
    },
  }
}

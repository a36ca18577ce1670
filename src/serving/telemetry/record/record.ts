/**
 * The record: one JSON line per scored row, written in the background. Finished requests wait in a bounded queue. A few
 * rows at a time are serialized, compressed and appended. Rows that do not fit are dropped and counted. A failing disk is
 * reported once, and scoring continues.
 */
import { randomUUID } from 'node:crypto'
import { promisify } from 'node:util'
import { constants, gzip } from 'node:zlib'
import type { Clock } from '../../../core/clock.ts'
import { hashedShare } from '../../../core/hash.ts'
import { jsonLine } from '../../../core/json/text.ts'
import type { ListenerGuard } from '../../../core/listener-guard.ts'
import { countBytes, type EngineEvents, type RequestDone } from '../../../scoring/engine/events.ts'
import { JudgeAnswers } from './judge-answers.ts'
import { type RowParts, recordRow } from './row.ts'
import { type SegmentLimits, Segments } from './segments.ts'
import { type TextPolicy, textKeeper } from './text-policy.ts'

/** The `record` section of gateway.yaml. */
export interface RecordSettings extends SegmentLimits {
  readonly text: TextPolicy
  /** Share of each request's groups that is recorded, 0 to 1. */
  readonly share: number
}

/**
 * Events of the record. Rows are dropped because they arrive faster than they are written (`queue`), cannot be written
 * (`disk`) or cannot be serialized (`fault`).
 */
export interface RecordEvents {
  written?(rows: number, bytes: number): void
  dropped?(rows: number, why: 'queue' | 'disk' | 'fault'): void
  /** Called once with the reason when writing starts to fail, and once with null when it works again. */
  disk?(trouble: string | null): void
}

/** What a record needs. */
export interface RecordParts extends Pick<RowParts, 'samplingOf' | 'rangeOf'> {
  readonly clock: Clock
  /** Receives errors of writing, which runs detached from any request. */
  readonly guard: ListenerGuard
  readonly events?: RecordEvents
}

/** Rows that wait to be serialized, and the bytes of all their fields. A larger request waits alone. */
const maxWaiting = { rows: 65_536, bytes: 128 * 1024 * 1024 }
/** Questions and answers of rows that wait or are still being scored. */
const maxAnswerBytes = 128 * 1024 * 1024
/** Characters of lines that are being written. */
const maxUnwritten = 16 * 1024 * 1024
const flushChars = 256 * 1024
const flushMs = 1000
/** Work per turn of the event loop; the row that exceeds it is finished. */
const turn = { rows: 128, ms: 8 }
/** After a turn the record pauses for this multiple of the turn's duration, so it uses 5 % of the thread. */
const rest = 19

const compress = promisify(gzip)

/** When a request was done, and when it had been received, in ISO 8601. */
interface Times {
  readonly time: string
  readonly arrived: string
}

/** Listens to the engine and never delays a request. Opens a file only when the first row is written. */
export function openRecord(
  settings: RecordSettings,
  { clock, guard, events = {}, ...rowParts }: RecordParts,
): Required<Pick<EngineEvents, 'voted' | 'done'>> & { close(): Promise<void> } {
  const answers = new JudgeAnswers(maxAnswerBytes)
  const parts: RowParts = {
    ...rowParts,
    keep: textKeeper(settings.text),
    answersOf: (sample) => answers.of(sample),
  }
  const segments = new Segments(settings, clock)
  const waiting: { event: RequestDone; id: string; times: Times; next: number; bytes: number }[] = []
  let rows = 0
  let bytes = 0
  let lines: string[] = []
  let lineChars = 0
  let unwritten = 0
  let cancelTurn: (() => void) | null = null
  let cancelFlush: (() => void) | null = null
  let writing: Promise<void> = Promise.resolve()
  /** Resolves when no request is being measured. */
  let weighed: Promise<unknown> = Promise.resolve()
  /** Rows of requests that are being measured. */
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

  /** Each batch is a complete gzip member: if the process dies, no earlier line is lost. */
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

  /** Serializes one row. */
  const take = (): void => {
    const first = waiting[0]
    if (!first) return
    const { event, id, times } = first
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
    const line = unwritten > maxUnwritten || !isWhole(event, index) ? null : lineOf(event, index, id, times)
    forget(event, index)
    if (line === null) {
      events.dropped?.(1, isFailing ? 'disk' : 'queue')
      return
    }
    lines.push(line)
    lineChars += line.length
    if (lineChars >= flushChars) flush()
  }

  const lineOf = (event: RequestDone, index: number, id: string, times: Times): string =>
    jsonLine(recordRow(event, index, { id: `${id}:${index}`, ...times }, parts))

  /** Whether every answer of the row's judges was kept; an incomplete list would mislead. */
  const isWhole = ({ rows }: RequestDone, index: number): boolean => {
    const row = rows[index]
    return !row || 'failure' in row || answers.isWhole(row)
  }

  const forget = ({ rows }: RequestDone, index: number): void => {
    const row = rows[index]
    if (row && !('failure' in row)) answers.forget(row)
  }

  /** A row that cannot be serialized is counted and logged, and must not end the process. */
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

  const enqueue = (event: RequestDone, times: Times, held: number): void => {
    weighing -= event.rows.length
    if (waiting.length > 0 && bytes + held > maxWaiting.bytes) {
      drop(event)
      return
    }
    waiting.push({ event, id: event.requestId ?? randomUUID(), times, next: 0, bytes: held })
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
    voted(event) {
      if (settings.share > 0) answers.add(event)
    },
    done(event) {
      if (settings.share === 0 || event.rows.length === 0) return
      if (isClosed || rows + weighing >= maxWaiting.rows) {
        drop(event)
        return
      }
      const now = Date.now()
      const ago = clock.now() - event.times.arrived
      const times = { time: new Date(now).toISOString(), arrived: new Date(now - ago).toISOString() }
      weighing += event.rows.length
      const rest = countBytes(event, (held) => enqueue(event, times, held))
      if (rest === null) return
      weighed = weighed.then(() => rest).catch(() => {})
      return rest
    },
    /** Writes the waiting rows, then closes the file. Later rows are dropped. */
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

/** Whether a row is in the recorded share. A group of a request is recorded completely or not at all; equal ids are treated equally. */
function isSampled({ rows }: RequestDone, index: number, requestId: string, share: number): boolean {
  if (share >= 1) return true
  const row = rows[index]
  const group = row && 'group' in row ? row.group?.id : undefined
  return hashedShare(`${requestId}\n${group ?? index}`) < share
}

import { bytesOf, type Sample, type Unreadable } from '../../../core/sample/sample.ts'
import type { RequestDone } from '../../../scoring/engine/events.ts'

/** A recently scored row. */
export interface RecentRow {
  /** As in the record: `<request id>:<row index>`. */
  readonly id: string
  /** Increases with each row. */
  readonly serial: number
  /** Milliseconds since the epoch. */
  readonly at: number
  /** Reduced to this row, so that it does not keep the rest of its request in memory. */
  readonly event: RequestDone
}

/** Rows that are kept, and the bytes of all their fields. */
export const maxRows = 400
const maxBytes = 32 * 1024 * 1024
/** Rows kept of one request: a run of neighbours, so that groups stay complete, and rows without a reward. */
const neighbours = 16
const failures = 4
/** Sustained rate; more rows would be gone before anybody has seen them. */
const rowsPerSecond = 40

/**
 * A bounded sample of recent rows, at constant cost per request. Under load most requests leave no row here: keeping some
 * rows of every request for a moment made garbage collection a quarter of the cost of a rule (`npm run rules` in bench/).
 */
export class RecentRows {
  readonly #rows = new Map<string, RecentRow & { readonly bytes: number }>()
  #bytes = 0
  #serial = 0
  readonly #scored = new TokenBucket()
  readonly #failed = new TokenBucket()
  readonly #dropped: (row: Sample | Unreadable) => void

  /** `dropped` is called with each row that is no longer kept. */
  constructor(dropped: (row: Sample | Unreadable) => void) {
    this.#dropped = dropped
  }

  /** `invalid`: indices of rows without a reward. `random`: in [0, 1), chooses the neighbours. Returns the indices of the kept rows. */
  take(
    event: RequestDone,
    id: string,
    at: number,
    invalid: readonly number[],
    random: number,
  ): readonly number[] {
    const kept: number[] = []
    const count = event.rows.length
    const first = neighbours * Math.floor(random * Math.ceil(count / neighbours))
    const last = this.#scored.take(at, Math.min(count, neighbours))
      ? Math.min(count, first + neighbours)
      : first
    for (const index of invalid.slice(0, failures))
      if ((index < first || index >= last) && this.#failed.take(at, 1)) kept.push(index)
    for (let index = first; index < last; index += 1) kept.push(index)
    for (const index of kept) this.#add(event, id, at, index)
    return kept
  }

  get(id: string): RecentRow | null {
    return this.#rows.get(id) ?? null
  }

  /** Rows after a serial, oldest first. */
  since(serial: number): RecentRow[] {
    return serial >= this.#serial ? [] : [...this.#rows.values()].filter((row) => row.serial > serial)
  }

  get newest(): number {
    return this.#serial
  }

  #add(event: RequestDone, request: string, at: number, index: number): void {
    const id = `${request}:${index}`
    const row = event.rows[index]
    if (!row) return
    this.#drop(id)
    const bytes = bytesOf(row) + bytesOf(event.outcomes[index])
    this.#rows.set(id, { id, serial: ++this.#serial, at, event: onlyRow(event, index), bytes })
    this.#bytes += bytes
    for (const oldest of this.#rows.keys()) {
      if (this.#rows.size === 1 || (this.#rows.size <= maxRows && this.#bytes <= maxBytes)) break
      this.#drop(oldest)
    }
  }

  #drop(id: string): void {
    const known = this.#rows.get(id)
    if (!known) return
    this.#bytes -= known.bytes
    this.#rows.delete(id)
    const [row] = known.event.rows
    if (row) this.#dropped(row)
  }
}

const onlyRow = (event: RequestDone, index: number): RequestDone => ({
  ...event,
  rows: event.rows.slice(index, index + 1),
  outcomes: event.outcomes.slice(index, index + 1),
  ms: event.ms.slice(index, index + 1),
})

/** Limits the rows taken per second; the burst is the number of rows that are kept. */
class TokenBucket {
  #rows = maxRows
  #filledAt = 0

  /** False if too few tokens are left. `now`: milliseconds since the epoch. */
  take(now: number, rows: number): boolean {
    const since = Math.max(0, now - this.#filledAt)
    this.#filledAt = now
    this.#rows = Math.min(maxRows, this.#rows + (rowsPerSecond * since) / 1000)
    if (this.#rows < rows) return false
    this.#rows -= rows
    return true
  }
}

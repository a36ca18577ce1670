/** Reads the finals of a run from a cursor on: at once, when the next one comes, or as a stream of server-sent events. */
import { Readable } from 'node:stream'
import type { Clock } from '../../core/clock.ts'
import { GatewayError } from '../../core/errors.ts'
import type { RolloutQueue } from '../queue/queue.ts'
import type { ReadFinal } from '../queue/run-store.ts'

/** Characters of finals that are read at once; one may be longer. */
const mostChars = 4 * 1024 * 1024
const eventsAtOnce = 256
const keepAliveMs = 15_000

export const cursorOf = (id: string, seq: number): string => `${id}-${seq}`

/** A final as JSON. The result is null if its record is damaged. */
export function finalText(id: string, { seq, uid, attempt, at, state, result }: ReadFinal): string {
  const facts = { uid, attempt, state, cursor: cursorOf(id, seq), at: at / 1000 }
  return `${JSON.stringify(facts).slice(0, -1)},"result":${result}}`
}

/** Reads one run, which may not exist yet. */
export class FinalReader {
  readonly #queue: RolloutQueue
  readonly #run: string
  readonly #clock: Clock
  readonly #gone: AbortSignal

  constructor(queue: RolloutQueue, run: string, clock: Clock, gone: AbortSignal) {
    this.#queue = queue
    this.#run = run
    this.#clock = clock
    this.#gone = gone
  }

  /** '' if the run does not exist yet. */
  get id(): string {
    return this.#queue.runs.get(this.#run)?.id ?? ''
  }

  /** True once nobody reads any more, or the server ends. */
  get isOver(): boolean {
    return this.#gone.aborted || this.#queue.stopping.aborted
  }

  /** The number of the last final that the reader has. Throws RG_REQUEST_INVALID and RG_CURSOR_UNKNOWN. */
  read(cursor: string | undefined): number {
    const store = this.#queue.runs.get(this.#run)
    if (cursor === undefined || cursor === '') return store?.state.expired ?? 0
    const [, id, digits] = /^([0-9a-f]{12})-(\d{1,15})$/.exec(cursor) ?? []
    if (id === undefined)
      throw new GatewayError('RG_REQUEST_INVALID', 'after: is not a cursor of this gateway')
    const seq = Number(digits)
    if (store?.id !== id || seq > store.last)
      throw new GatewayError(
        'RG_CURSOR_UNKNOWN',
        `the run '${this.#run}' has no such cursor: it was removed, or its folder is an older copy; read it from the beginning`,
      )
    const { expired } = store.state
    if (seq < expired)
      throw new GatewayError(
        'RG_CURSOR_UNKNOWN',
        `${expired - seq} finals behind this cursor are older than queue.keep_s and gone; go on after ${cursorOf(id, expired)}`,
      )
    return seq
  }

  /** '' if the run does not exist yet. */
  cursorAfter(seq: number): string {
    const { id } = this
    return id === '' ? '' : cursorOf(id, seq)
  }

  /** The next finals; none if there is none within `waitMs`. */
  async next(after: number, count: number, waitMs: number): Promise<readonly ReadFinal[]> {
    const until = this.#clock.now() + waitMs
    for (;;) {
      const store = this.#queue.runs.get(this.#run)
      if (store && store.last > after) return store.finalsAfter(after, count, mostChars)
      const left = until - this.#clock.now()
      if (left <= 0 || this.isOver) return []
      await this.#change(left)
    }
  }

  /** Resolves after the next final or new run, after `ms`, or when nobody reads any more. */
  #change(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const { stopping } = this.#queue
      const done = (): void => {
        cancel()
        off()
        stopping.removeEventListener('abort', done)
        this.#gone.removeEventListener('abort', done)
        // Finals that are committed together are read together.
        setImmediate(resolve)
      }
      const cancel = this.#clock.after(ms, done)
      const store = this.#queue.runs.get(this.#run)
      const off = store ? store.onFinal(done) : this.#queue.onCreated(done)
      stopping.addEventListener('abort', done)
      this.#gone.addEventListener('abort', done)
    })
  }
}

/** Finals as server-sent events, whose ids are cursors. Ends when the key is revoked or the server ends. */
export function finalEvents(reader: FinalReader, from: number, mayRead: () => boolean): Readable {
  async function* chunks(): AsyncGenerator<string> {
    let after = from
    yield ': finals of the run\n\n'
    while (!reader.isOver && mayRead()) {
      const finals = await reader.next(after, eventsAtOnce, keepAliveMs)
      if (finals.length === 0) {
        if (!reader.isOver) yield ': alive\n\n'
        continue
      }
      const { id } = reader
      yield finals
        .map((final) => `event: final\nid: ${cursorOf(id, final.seq)}\ndata: ${finalText(id, final)}\n\n`)
        .join('')
      after = finals.at(-1)?.seq ?? after
    }
  }
  return Readable.from(chunks(), { objectMode: false, highWaterMark: 1 })
}

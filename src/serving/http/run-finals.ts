/** Reads the results of a run from a cursor on: at once, when the next one comes, or as a stream of server-sent events. */
import { Readable } from 'node:stream'
import type { Clock } from '../../core/clock.ts'
import { GatewayError } from '../../core/errors.ts'
import type { RolloutQueue } from '../queue/queue.ts'
import type { ReadFinal, ReadPartial } from '../queue/run-reader.ts'
import { ErrorWithFields } from './errors.ts'

/** Characters of results that are read at once; one may be longer. */
const mostChars = 4 * 1024 * 1024
/** The same of a stream, which may stay open unread: thousands of them must fit into memory. */
const streamed = { chars: 128 * 1024, events: 256 }
const keepAliveMs = 15_000
/** When a reader that found no place may ask again. */
const readerRetryS = 5

/** What a reader has: the numbers of the last final and of the last early result. */
export interface Position {
  /** The run's: a run that was removed and began again has another one. '': it did not exist yet. */
  readonly id: string
  readonly final: number
  /** null: it reads no early results. */
  readonly partial: number | null
}

/** The next results behind a position. */
export interface News {
  readonly partials: readonly ReadPartial[]
  readonly finals: readonly ReadFinal[]
  /** Before them. */
  readonly from: Position
  /** Behind them. */
  readonly position: Position
}

/** '' if the run does not exist yet. */
export const cursorOf = ({ id, final, partial }: Position): string =>
  id === '' ? '' : partial === null ? `${id}-${final}` : `${id}-${final}-${partial}`

/** A final as JSON. The result is null if its record is damaged. */
export function finalText(cursor: string, { uid, attempt, at, state, reward, result }: ReadFinal): string {
  const facts = { uid, attempt, state, cursor, at: at / 1000, reward }
  return `${JSON.stringify(facts).slice(0, -1)},"result":${result}}`
}

/** An early result as JSON. It has no `result` and no reward, so that nobody takes it for a final. */
function partialText(cursor: string, { uid, attempt, at, terms }: ReadPartial): string {
  const facts = { uid, attempt, state: 'partial', cursor, at: at / 1000 }
  return `${JSON.stringify(facts).slice(0, -1)},"terms":${terms}}`
}

/** Readers that wait for news of any run. Each holds a connection, and a stream also what its client has not read yet. */
export class WaitingReaders {
  readonly #most: () => number
  #count = 0

  constructor(most: () => number) {
    this.#most = most
  }

  /** Call the returned function when it waits no more; a second call does nothing. Throws RG_OVERLOADED. */
  enter(): () => void {
    if (this.#count >= this.#most())
      throw new GatewayError(
        'RG_OVERLOADED',
        `${this.#count} readers wait for rewards, and queue.max_readers is ${this.#most()}; read without wait_s, or later`,
        { retryAfterS: readerRetryS },
      )
    this.#count += 1
    let isHere = true
    return () => {
      if (isHere) this.#count -= 1
      isHere = false
    }
  }
}

/** Reads one run, which may not exist yet. */
export class FinalReader {
  readonly #queue: RolloutQueue
  readonly #run: string
  readonly #clock: Clock
  readonly #gone: AbortSignal
  readonly #hasPartials: boolean

  /** `hasPartials`: it reads early results, too. */
  constructor(queue: RolloutQueue, run: string, clock: Clock, gone: AbortSignal, hasPartials: boolean) {
    this.#queue = queue
    this.#run = run
    this.#clock = clock
    this.#gone = gone
    this.#hasPartials = hasPartials
  }

  /** True once nobody reads any more, or the server ends. */
  get isOver(): boolean {
    return this.#gone.aborted || this.#queue.stopping.aborted
  }

  /** What the reader has. Throws RG_REQUEST_INVALID and RG_CURSOR_UNKNOWN. */
  read(cursor: string | undefined): Position {
    const none = this.#hasPartials ? 0 : null
    if (cursor === undefined || cursor === '') return this.#beginning(none)
    const [, id, digits, more] = /^([0-9a-f]{12})-(\d{1,15})(?:-(\d{1,15}))?$/.exec(cursor) ?? []
    if (id === undefined)
      throw new GatewayError('RG_REQUEST_INVALID', 'after: is not a cursor of this gateway')
    const partial = more === undefined ? null : Number(more)
    const position = this.#checked({ id, final: Number(digits), partial })
    return { ...position, partial: this.#hasPartials ? (position.partial ?? 0) : none }
  }

  /** Before the oldest final that is kept. */
  #beginning(partial: number | null): Position {
    const store = this.#queue.runs.get(this.#run)
    return { id: store?.id ?? '', final: store?.state.expired ?? 0, partial }
  }

  /**
   * Where a reader goes on: at its position or, if it had everything of a run that was removed, at the beginning of the run that has the
   * name now. Throws RG_CURSOR_UNKNOWN, with the oldest position that is known, if finals behind the position cannot be read any more.
   */
  #checked(position: Position): Position {
    const { id, final, partial } = position
    if (id === '') return this.#beginning(partial)
    const store = this.#queue.runs.get(this.#run)
    const beginning = this.#beginning(partial === null ? null : 0)
    if (store?.id !== id) {
      const last = this.#queue.lastOfRemoved(id)
      if (final === last) return beginning
      const lost = last === undefined || final > last ? null : last - final
      const told = `the run '${this.#run}' has no such cursor: it was removed, or its folder is an older copy; read it from the beginning`
      throw this.#unknown(told, beginning, lost)
    }
    if (final > store.last || (partial ?? 0) > store.state.lastPartial)
      throw this.#unknown(
        `the run '${this.#run}' has not come to this cursor: its folder is an older copy; read it from the beginning`,
        beginning,
        null,
      )
    const { expired } = store.state
    if (final >= expired) return position
    const left = { id, final: expired, partial }
    const lost = expired - final
    const told = `${lost} finals behind this cursor are kept no more (queue.keep_s, keep_finals, keep_bytes); go on after ${cursorOf(left)}`
    throw this.#unknown(told, left, lost)
  }

  /** `left`: the oldest position that is known. `lost`: finals that nobody can read any more; null if nobody can say how many. */
  #unknown(message: string, left: Position, lost: number | null): GatewayError {
    return new ErrorWithFields('RG_CURSOR_UNKNOWN', message, { cursor: cursorOf(left), lost })
  }

  /**
   * The next results, at most `count`; none if there is none within `waitMs`. Rejects with RG_CURSOR_UNKNOWN if the run was removed
   * meanwhile, or finals have expired that the reader does not have.
   */
  async next(from: Position, count: number, waitMs: number, chars = mostChars): Promise<News> {
    const until = this.#clock.now() + waitMs
    let after = from
    for (;;) {
      after = this.#checked(after)
      const news = after.id === '' ? null : await this.#now(after, count, chars)
      if (news) return news
      const left = until - this.#clock.now()
      if (left <= 0 || this.isOver) return { partials: [], finals: [], from: after, position: after }
      await this.#change(left, after)
    }
  }

  async #now(after: Position, count: number, chars: number): Promise<News | null> {
    const store = this.#queue.runs.get(this.#run)
    if (!store) return null
    let { final, partial } = after
    const partials = partial === null ? [] : await store.reader.partialsAfter(partial, count, chars)
    const finals =
      partials.length < count ? await store.reader.finalsAfter(final, count - partials.length, chars) : []
    // The oldest may have expired while they were read.
    this.#checked(after)
    if (partials.length === 0 && finals.length === 0) return null
    if (partial !== null) partial = partials.at(-1)?.number ?? partial
    final = finals.at(-1)?.seq ?? final
    return { partials, finals, from: after, position: { id: after.id, final, partial } }
  }

  /** Resolves after the next result or new run, after `ms`, or when nobody reads any more. */
  #change(ms: number, { final, partial }: Position): Promise<void> {
    return new Promise((resolve) => {
      const { stopping } = this.#queue
      const offs: (() => void)[] = []
      const done = (): void => {
        cancel()
        for (const off of offs) off()
        stopping.removeEventListener('abort', done)
        this.#gone.removeEventListener('abort', done)
        // Finals that are committed together are read together.
        setImmediate(resolve)
      }
      const cancel = this.#clock.after(ms, done)
      const store = this.#queue.runs.get(this.#run)
      offs.push(store ? store.onFinal(done) : this.#queue.onCreated(done))
      if (store && partial !== null) offs.push(store.onPartial(done))
      stopping.addEventListener('abort', done)
      this.#gone.addEventListener('abort', done)
      // Something came while the disk was read.
      if (store && (store.last > final || store.state.partials.after(partial ?? Infinity, 1).length > 0))
        done()
    })
  }
}

/** Results as server-sent events, whose ids are cursors. Ends when the key is revoked or the server ends. */
export function finalEvents(reader: FinalReader, from: Position, mayRead: () => boolean): Readable {
  async function* chunks(): AsyncGenerator<string> {
    let after = from
    yield ': finals of the run\n\n'
    while (!reader.isOver && mayRead()) {
      let news: News
      try {
        news = await reader.next(after, streamed.events, keepAliveMs, streamed.chars)
      } catch (error) {
        // Whoever connects again with the last id gets a 410 that says where to go on.
        if (error instanceof GatewayError && error.code === 'RG_CURSOR_UNKNOWN') return
        throw error
      }
      after = news.position
      if (news.partials.length + news.finals.length === 0) {
        if (!reader.isOver) yield ': alive\n\n'
        continue
      }
      yield [...partialTexts(news), ...finalTexts(news)]
        .map(({ name, cursor, text }) => `event: ${name}\nid: ${cursor}\ndata: ${text}\n\n`)
        .join('')
    }
  }
  return Readable.from(chunks(), { objectMode: false, highWaterMark: 1 })
}

/** Early results as JSON, each with the cursor behind it. */
export function* partialTexts({ partials, from }: News): Generator<Text> {
  for (const one of partials) {
    const cursor = cursorOf({ ...from, partial: one.number })
    yield { name: 'partial', cursor, text: partialText(cursor, one) }
  }
}

/** Finals as JSON, each with the cursor behind it: they come after the early results. */
export function* finalTexts({ finals, position }: News): Generator<Text> {
  for (const one of finals) {
    const cursor = cursorOf({ ...position, final: one.seq })
    yield { name: 'final', cursor, text: finalText(cursor, one) }
  }
}

interface Text {
  readonly name: 'partial' | 'final'
  readonly cursor: string
  readonly text: string
}

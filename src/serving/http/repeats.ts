import type { Clock } from '../../core/clock.ts'
import { bytesOf } from '../../core/sample/bytes.ts'
import { eachInSlices } from '../../core/slices.ts'
import type { Scored } from '../../scoring/gateway/gateway.ts'

/** Trainers send a request again when its answer was late or lost: it joins the work or gets the same answer. */
export interface Repeats {
  /**
   * What `work` gives for this key: under way, done a short while ago, or begun here. `gone` ends the waiting of this
   * caller; the work's own signal is aborted once nobody waits. An answer that another try may better is not kept.
   */
  join(key: string, gone: AbortSignal, work: (signal: AbortSignal) => Promise<Scored>): Promise<Scored>
}

/** What is kept: until then, and the oldest go first where it is more. */
interface RepeatLimits {
  readonly keepMs: number
  readonly maxEntries: number
  /** Of memory that the outcomes and their keys take. */
  readonly maxBytes: number
}

/** Longer than any trainer's pauses between its tries together. */
const repeatLimits: RepeatLimits = {
  keepMs: 300_000,
  maxEntries: 16_384,
  maxBytes: 64 * 1024 * 1024,
}

interface Kept {
  readonly scored: Scored
  readonly until: number
  readonly bytes: number
}

interface Pending {
  readonly result: Promise<Scored>
  readonly controller: AbortController
  waiting: number
}

/** Keeps what was scored in memory, within the limits. */
export function openRepeats(clock: Clock, limits: RepeatLimits = repeatLimits): Repeats {
  // In the order of their age.
  const kept = new Map<string, Kept>()
  const pending = new Map<string, Pending>()
  let bytes = 0
  const drop = (key: string, entry: Kept) => {
    kept.delete(key)
    bytes -= entry.bytes
  }
  const tidy = () => {
    const now = clock.now()
    for (const [key, entry] of kept) {
      const isOver = kept.size > limits.maxEntries || bytes > limits.maxBytes
      if (!isOver && entry.until > now) return
      drop(key, entry)
    }
  }
  const keep = (key: string, scored: Scored) => {
    let own = bytesOf(key)
    const count = (index: number): void => {
      // What never fits is not reckoned to its end.
      if (own <= limits.maxBytes) own += bytesOf(scored.outcomes[index])
    }
    return eachInSlices(scored.outcomes.length, count, () => {
      const old = kept.get(key)
      if (old) drop(key, old)
      if (own > limits.maxBytes) return
      kept.set(key, { scored, until: clock.now() + limits.keepMs, bytes: own })
      bytes += own
      tidy()
    })
  }
  const begin = (key: string, work: (signal: AbortSignal) => Promise<Scored>): Pending => {
    const controller = new AbortController()
    const one: Pending = { result: work(controller.signal), controller, waiting: 0 }
    const land = () => {
      if (pending.get(key) === one) pending.delete(key)
    }
    one.result.then(async (scored) => {
      if (!controller.signal.aborted && isFinal(scored)) await keep(key, scored)
      land()
    }, land)
    pending.set(key, one)
    return one
  }
  return {
    join(key, gone, work) {
      tidy()
      const done = kept.get(key)
      if (done) return Promise.resolve(done.scored)
      const one = pending.get(key) ?? begin(key, work)
      one.waiting++
      const leave = () => {
        if (--one.waiting > 0) return
        if (pending.get(key) === one) pending.delete(key)
        one.controller.abort()
      }
      if (gone.aborted) leave()
      else gone.addEventListener('abort', leave, { once: true })
      return one.result.finally(() => gone.removeEventListener('abort', leave))
    },
  }
}

/** What a judge failed at may go well with the next server, even where the same one would say the same again. */
const isFinal = ({ outcomes }: Scored): boolean =>
  outcomes.every(
    (outcome) => outcome.valid || !(outcome.failure.retryable || outcome.failure.kind.startsWith('judge_')),
  )

import type { Clock } from '../clock.ts'
import { GatewayError } from '../errors.ts'
import type { Scored } from '../gateway/gateway.ts'
import type { Sample, Unreadable } from '../sample/sample.ts'

/** Answers to one prompt that come in requests of their own wait for each other and are scored as one request. */
export interface HeldGroups {
  /**
   * The outcome of one answer. Rejects with RG_OVERLOADED where too many wait, with RG_REQUEST_INVALID where another
   * answer has its index, and with what `run` rejects.
   */
  score(held: HeldRow): Promise<Scored>
}

export interface HeldRow {
  /** The same for the answers of one group: reward, version, group. */
  readonly key: string
  readonly row: Sample | Unreadable
  /** Place in the group, from 0, and the number of its answers. */
  readonly index: number
  readonly size: number
  /** Of the group since its first answer; then those that are there are scored. */
  readonly waitMs: number
  /** Aborted when nobody waits for this answer. */
  readonly signal: AbortSignal
  /** Scores the answers that are there, in the order of their places. Called once a group. */
  run(rows: readonly (Sample | Unreadable)[], signal: AbortSignal): Promise<Scored>
}

interface Group {
  readonly rows: Map<number, Sample | Unreadable>
  readonly controller: AbortController
  readonly results: Promise<ReadonlyMap<number, Scored>>
  waiting: number
  start(): void
}

/** A trainer whose answers all wait could never send those that they wait for. */
const mostHeld = 4096

export function openHeldGroups(clock: Clock, most = mostHeld): HeldGroups {
  const groups = new Map<string, Group>()
  let held = 0
  const begin = ({ key, waitMs, run }: HeldRow): Group => {
    const { promise, resolve } = withResolve<void>()
    const controller = new AbortController()
    const rows: Group['rows'] = new Map()
    const cancel = clock.after(waitMs, () => group.start())
    const group: Group = {
      rows,
      controller,
      waiting: 0,
      results: promise.then(() => scoreAll(rows, controller.signal, run)),
      start() {
        cancel()
        if (groups.get(key) === group) groups.delete(key)
        resolve()
      },
    }
    groups.set(key, group)
    return group
  }
  return {
    async score(answer) {
      const { key, row, index, size, signal } = answer
      if (held >= most)
        throw new GatewayError(
          'RG_OVERLOADED',
          `${most} answers wait for others of their groups; send this later`,
        )
      const group = groups.get(key) ?? begin(answer)
      const other = group.rows.get(index)
      if (other)
        throw new GatewayError('RG_REQUEST_INVALID', `another answer of this group has the index ${index}`)
      group.rows.set(index, row)
      group.waiting++
      held++
      const leave = () => {
        if (groups.get(key) === group) group.rows.delete(index)
        if (--group.waiting > 0) return
        group.controller.abort()
        group.start()
      }
      if (signal.aborted) leave()
      else signal.addEventListener('abort', leave, { once: true })
      if (group.rows.size === size) group.start()
      try {
        const scored = (await group.results).get(index)
        if (scored) return scored
        throw new GatewayError('RG_CLOSING', 'the client went away before its group was complete')
      } finally {
        held--
        signal.removeEventListener('abort', leave)
      }
    },
  }
}

async function scoreAll(
  rows: Group['rows'],
  signal: AbortSignal,
  run: HeldRow['run'],
): Promise<ReadonlyMap<number, Scored>> {
  if (rows.size === 0) return new Map()
  const places = [...rows.keys()].sort((a, b) => a - b)
  const { outcomes, version } = await run(
    places.flatMap((index) => rows.get(index) ?? []),
    signal,
  )
  return new Map(
    places.flatMap((index, at) => {
      const outcome = outcomes[at]
      return outcome ? [[index, { outcomes: [outcome], version }] as const] : []
    }),
  )
}

function withResolve<T>(): { promise: Promise<T>; resolve(value: T): void } {
  let resolve: (value: T) => void = () => {}
  const promise = new Promise<T>((done) => {
    resolve = done
  })
  return { promise, resolve: (value) => resolve(value) }
}

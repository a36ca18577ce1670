/**
 * Loaded into a replica with `--import`: tells its parent once a second, and when it is asked to collect garbage, what it uses and
 * how long its loop was blocked. A block is the processor time of the main thread between two ticks, as in test/support/loop-probe.ts.
 */
import { mainThreadMs } from '../support/cpu.ts'

/** What a replica's process says of itself. */
export interface ReplicaFigures {
  /** How many ticks came after a block of so many milliseconds, since the last message. */
  readonly blocks: readonly (readonly [ms: number, count: number])[]
  /** Bytes. */
  readonly rss: number
  readonly heapUsed: number
  /** True in the answer to 'collect'. */
  readonly isCollected: boolean
}

const tickMs = 10
const blocks = new Map<number, number>()
let last = { wall: performance.now(), cpu: mainThreadMs() }

setInterval(() => {
  const now = { wall: performance.now(), cpu: mainThreadMs() }
  const ms = Math.round(Math.min(now.wall - last.wall, now.cpu - last.cpu))
  blocks.set(ms, (blocks.get(ms) ?? 0) + 1)
  last = now
}, tickMs).unref()

function tell(isCollected: boolean): void {
  const { rss, heapUsed } = process.memoryUsage()
  const figures: ReplicaFigures = { blocks: [...blocks], rss, heapUsed, isCollected }
  blocks.clear()
  process.send?.(figures)
}

setInterval(tell, 1000, false).unref()
process.on('message', () => {
  globalThis.gc?.()
  last = { wall: performance.now(), cpu: mainThreadMs() }
  tell(true)
})
process.on('disconnect', () => process.exit(1))
process.channel?.unref()

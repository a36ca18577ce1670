/**
 * Loaded into a replica with `--import`: tells its parent once a second, and when it is asked to collect garbage, what it uses and
 * how long its loop was blocked. A block is the processor time of the main thread between two ticks, as in test/support/loop-probe.ts.
 * The ticks wake a process that would rest, 50 times a second: it says what those cost, so that nobody takes that for the gateway's.
 */
import { reading } from '../support/cpu.ts'

/** What a replica's process says of itself. */
export interface ReplicaFigures {
  /** How many ticks came after a block of so many milliseconds, since the last message. */
  readonly blocks: readonly (readonly [ms: number, count: number])[]
  /**
   * Processor milliseconds that ticks took of a loop at rest, since the last message. A tick of a busy loop wakes nobody: what it costs
   * counts as the gateway's.
   */
  readonly watchedMs: number
  /** Bytes. */
  readonly rss: number
  readonly heapUsed: number
  /** True in the answer to 'collect'. */
  readonly isCollected: boolean
  /** What a tick costs a process at rest, in processor milliseconds. Only in the answer to 'weigh'. */
  readonly tickCostMs?: number
}

/** What a replica's process is told: what a tick costs (a number), to find that out, or to collect garbage. */
export type ReplicaOrder = number | 'weigh' | 'collect'

const tickMs = 20
const weighedTicks = 150
const blocks = new Map<number, number>()
let last = reading()
let tickCostMs = 0
let watchedMs = 0
/** What the ticks so far took, while the process finds out what a tick costs. */
let weighed: number[] | null = null

function tick(): void {
  const now = reading()
  const cpu = now.cpu - last.cpu
  const ms = Math.round(Math.min(now.wall - last.wall, cpu))
  blocks.set(ms, (blocks.get(ms) ?? 0) + 1)
  if (cpu < 2 * tickCostMs) watchedMs += Math.min(cpu, tickCostMs)
  last = now
  if (weighed && weighed.push(cpu) === weighedTicks) {
    // The median: some ticks also saw the gateway's own timers.
    tickCostMs = weighed.sort((one, other) => one - other)[weighedTicks / 2] ?? 0
    weighed = null
    tell(false, tickCostMs)
  }
}

function tell(isCollected: boolean, tickCostMs?: number): void {
  const { rss, heapUsed } = process.memoryUsage()
  const figures: ReplicaFigures = {
    blocks: [...blocks],
    watchedMs,
    rss,
    heapUsed,
    isCollected,
    ...(tickCostMs !== undefined && { tickCostMs }),
  }
  blocks.clear()
  watchedMs = 0
  process.send?.(figures)
}

setInterval(tick, tickMs).unref()
setInterval(tell, 1000, false).unref()
process.on('message', (order: ReplicaOrder) => {
  if (typeof order === 'number') {
    tickCostMs = order
    return
  }
  if (order === 'weigh') {
    weighed = []
    return
  }
  globalThis.gc?.()
  last = reading()
  tell(true)
})
process.on('disconnect', () => process.exit(1))
process.channel?.unref()

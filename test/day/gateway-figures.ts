/**
 * Loaded into a replica with `--import`: tells its parent once a second, and when it is asked to collect garbage, what it uses and
 * how long its loop was blocked. A block is the processor time of the main thread between two ticks, as in test/support/loop-probe.ts.
 * The ticks wake a process that would rest, 100 times a second: it says what one costs, so that nobody takes that for the gateway's.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { cpuMs, mainThreadMs } from '../support/cpu.ts'

/** What a replica's process says of itself. */
export interface ReplicaFigures {
  /** How many ticks came after a block of so many milliseconds, since the last message. */
  readonly blocks: readonly (readonly [ms: number, count: number])[]
  /** Bytes. */
  readonly rss: number
  readonly heapUsed: number
  /** True in the answer to 'collect'. */
  readonly isCollected: boolean
  /** What a tick costs a process at rest, in processor milliseconds. Only in the answer to 'weigh'. */
  readonly tickCostMs?: number
}

const tickMs = 10
const blocks = new Map<number, number>()
let last = { wall: performance.now(), cpu: mainThreadMs() }

function tick(): void {
  const now = { wall: performance.now(), cpu: mainThreadMs() }
  const ms = Math.round(Math.min(now.wall - last.wall, now.cpu - last.cpu))
  blocks.set(ms, (blocks.get(ms) ?? 0) + 1)
  last = now
}

let ticks = setInterval(tick, tickMs).unref()

function tell(isCollected: boolean, tickCostMs?: number): void {
  const { rss, heapUsed } = process.memoryUsage()
  const figures: ReplicaFigures = {
    blocks: [...blocks],
    rss,
    heapUsed,
    isCollected,
    ...(tickCostMs !== undefined && { tickCostMs }),
  }
  blocks.clear()
  process.send?.(figures)
}

const weighedMs = 2000

/** Processor milliseconds of a second or two at rest. */
async function atRest(): Promise<number> {
  const before = cpuMs()
  await pause(weighedMs)
  return cpuMs() - before
}

async function weigh(): Promise<void> {
  clearInterval(ticks)
  const without = await atRest()
  last = { wall: performance.now(), cpu: mainThreadMs() }
  ticks = setInterval(tick, tickMs).unref()
  const cost = (await atRest()) - without
  tell(false, Math.max(0, (cost * tickMs) / weighedMs))
}

setInterval(tell, 1000, false).unref()
process.on('message', (order) => {
  if (order === 'weigh') return void weigh()
  globalThis.gc?.()
  last = { wall: performance.now(), cpu: mainThreadMs() }
  tell(true)
})
process.on('disconnect', () => process.exit(1))
process.channel?.unref()

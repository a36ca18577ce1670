/**
 * Loaded into a gateway's process with `--import`: says how long its loop was blocked. A block is the processor time of the main
 * thread between two ticks of a timer, so that a busy machine does not lengthen it; of all threads, where the kernel does not
 * tell (no Linux), and never more than the clock's time.
 */
import { cpuMs, reading } from './cpu.ts'
import type { Figures } from './served.ts'
import { block } from './yardstick.ts'

const tickMs = 5
let longestBlockMs = 0
let last = reading()

function look(): void {
  const now = reading()
  const wall = now.wall - last.wall
  longestBlockMs = Math.max(longestBlockMs, Math.min(wall, now.cpu - last.cpu))
  last = now
}

setInterval(look, tickMs).unref()

// A number: the loop is to be blocked for so many milliseconds. Anything else asks for the figures.
process.on('message', (asked) => {
  if (typeof asked === 'number') return block(asked)
  look()
  const { heapUsed, rss } = process.memoryUsage()
  const figures: Figures = { longestBlockMs, heapUsed, rss, cpuMs: cpuMs() }
  process.send?.(figures)
  longestBlockMs = 0
})
// A test that was killed leaves no gateway behind.
process.on('disconnect', () => process.exit(1))
// The channel alone does not keep the gateway's process alive.
process.channel?.unref()

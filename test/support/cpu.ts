import { openSync, readSync } from 'node:fs'

/** CPU milliseconds of this process so far, all threads: unlike the clock's, not the machine's other work. */
export function cpuMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

/** CPU milliseconds of a run that should take less than `limit`: the cheapest of so many tries, as the first also compiles. */
export function cheapestMs(limit: number, tries: number, run: () => unknown): number {
  let cheapest = Number.POSITIVE_INFINITY
  for (let k = 0; k < tries && cheapest >= limit; k++) {
    const start = cpuMs()
    run()
    cheapest = Math.min(cheapest, cpuMs() - start)
  }
  return cheapest
}

/** Opened once: opening and closing it for each look cost nine tenths of the look. */
let schedule: number | null | undefined
const text = Buffer.alloc(64)

/** Processor milliseconds of the main thread so far; where the kernel does not tell (no Linux), of all threads. */
export function mainThreadMs(): number {
  try {
    if (schedule === undefined) schedule = openSync('/proc/self/schedstat', 'r')
    if (schedule === null) return cpuMs()
    const length = readSync(schedule, text, 0, text.length, 0)
    return Number(text.toString('latin1', 0, length).split(' ', 1)[0]) / 1e6
  } catch {
    schedule = null
    return cpuMs()
  }
}

/** Milliseconds of the clock and of the main thread's processor time: two readings say how long a loop was blocked between them. */
export const reading = (): { readonly wall: number; readonly cpu: number } => ({
  wall: performance.now(),
  cpu: mainThreadMs(),
})

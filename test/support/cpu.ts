import { openSync, readSync } from 'node:fs'

/** CPU milliseconds of this process so far, all threads: unlike the clock's, not the machine's other work. */
export function cpuMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
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

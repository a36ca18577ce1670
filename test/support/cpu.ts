import { readFileSync } from 'node:fs'

/** CPU milliseconds of this process so far, all threads: unlike the clock's, not the machine's other work. */
export function cpuMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

/** Processor milliseconds of the main thread so far; where the kernel does not tell (no Linux), of all threads. */
export function mainThreadMs(): number {
  try {
    return Number(readFileSync('/proc/self/schedstat', 'utf8').split(' ', 1)[0]) / 1e6
  } catch {
    return cpuMs()
  }
}

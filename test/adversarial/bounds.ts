import type { Cost } from './run.ts'

/** The longest time in which the loop of a gateway may take no event, milliseconds of processor time of the machine of the bounds. */
export const mostBlockMs = 100
/** Resident memory of a gateway with the limits that ship, whatever one request of 16 MiB holds. */
export const mostPeakMib = 1024
/** Processor time for a byte of a long body, for one request whatever is in it, and for each of many small ones; of that machine too. */
const mostCpuNsPerByte = 4000
const freeCpuMs = 2000
const mostCpuMsPerRequest = 1

/** What a request's cost breaks; null: nothing. */
export function broken(cost: Cost): string | null {
  const {
    problem,
    blockMs,
    peakMib,
    cpuMs,
    bytes,
    requests,
    slowness,
    mostBlockMs: most = mostBlockMs,
  } = cost
  if (problem !== null) return problem
  if (blockMs > most * slowness) return `the loop was blocked for ${Math.round(blockMs)} ms`
  if (peakMib > mostPeakMib) return `${Math.round(peakMib)} MiB were resident`
  const forBytes = (bytes * mostCpuNsPerByte) / 1e6
  const allowedMs = (freeCpuMs + (requests - 1) * mostCpuMsPerRequest + forBytes) * slowness
  if (cpuMs > allowedMs) return `${Math.round(cpuMs)} ms of processor time`
  return null
}

/**
 * How slow this machine is while a test measures time. A bound in milliseconds holds on the machine that it was set on; a CI
 * machine may have half its speed, a busy sibling of its core, and V8's coverage switched on. So a fixed piece of work of the
 * gateway's kind is measured beside each measurement.
 */
import { cpuMs, mainThreadMs } from './cpu.ts'

/** Milliseconds that `work` takes on the machine that the bounds were set on. */
const referenceMs = 2.7
/** No machine is taken for slower than that: a bound must be able to fail. */
const mostSlowness = 5
const tries = 9
/**
 * V8's coverage counts each block that runs: a scan of 16 MiB takes 1.5 to 4 times as long, and the work below, most of which is
 * V8's own, hardly longer.
 */
const leastSlowness = process.env.NODE_V8_COVERAGE ? 2.5 : 1

const text = JSON.stringify(
  Array.from({ length: 1500 }, (_, index) => ({
    prompt: `question ${index}`,
    response: `an answer of some words \\boxed{${index}}`,
    extra_info: { index, list: [1, 2.5, null, true] },
  })),
)

/** Rows are read, walked over and written. */
function work(): number {
  const rows = JSON.parse(text) as { prompt: string; response: string; extra_info: { list: unknown[] } }[]
  let sum = 0
  for (const { prompt, response, extra_info } of rows) {
    for (let at = 0; at < response.length; at++) sum = (sum * 31 + response.charCodeAt(at)) | 0
    sum += prompt.length + extra_info.list.length
  }
  return sum + JSON.stringify(rows).length
}

/** Times as long as on the reference machine that the work takes now; at least 1, and more where coverage is counted. */
export function slowness(): number {
  let least = Number.POSITIVE_INFINITY
  for (let tried = 0; tried < tries; tried++) {
    const [wall, cpu] = [performance.now(), cpuMs()]
    work()
    // Who else runs on this core makes the one longer, the collector's threads the other.
    least = Math.min(least, performance.now() - wall, cpuMs() - cpu)
  }
  return Math.min(mostSlowness, Math.max(leastSlowness, least / referenceMs))
}

/** Whether what took `ms` here and now would take less than `most` on the reference machine. */
export const isWithin = (ms: number, most: number): boolean =>
  ms < most * leastSlowness || ms < most * slowness()

/**
 * Takes so long in one go, on any machine and with coverage: what a bound must find. `ms` is of the reference machine; a faster
 * one is given no shorter time, because bounds do not shrink there either.
 */
export function block(ms: number): void {
  const end = mainThreadMs() + ms * leastSlowness
  for (let left = (ms * leastSlowness) / referenceMs; left > 0; left--) work()
  while (mainThreadMs() < end) work()
}

for (let warmedUp = 0; warmedUp < 20; warmedUp++) work()

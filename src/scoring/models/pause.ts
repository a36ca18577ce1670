import type { Clock } from '../../core/clock.ts'
import type { Stop } from './abort.ts'

/** Resolves after `ms`, or at the stop. */
export function pause(clock: Clock, ms: number, stop: Stop): Promise<void> {
  return new Promise((resolve) => {
    const cancel = clock.after(ms, () => {
      off()
      resolve()
    })
    const off = stop.on(() => {
      cancel()
      resolve()
    })
  })
}

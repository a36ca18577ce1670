import type { Clock } from '../../../core/clock.ts'
import type { CancelToken } from '../api/cancel-token.ts'

/** Resolves after `ms`, or at the stop. */
export function pause(clock: Clock, ms: number, stop: CancelToken): Promise<void> {
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

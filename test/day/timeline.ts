/** The time of a day: the machine's own, or one that passes as fast as the work is done. Milliseconds. */
export interface Timeline {
  now(): number
  pause(ms: number): Promise<void>
  /** Whether the machine's speed shows in it. */
  readonly isReal: boolean
}

export const realTime: Timeline = {
  now: () => performance.now(),
  pause: (ms) => new Promise((resolve) => setTimeout(resolve, Math.max(0, ms))),
  isReal: true,
}

import type { RolloutQueue } from './queue.ts'

/** The queue at this moment, for metrics; `now`: Unix time in milliseconds. */
export function figuresOf(queue: RolloutQueue, now = queue.now()) {
  const runs = [...queue.runs.values()].map(({ run, state, damage }) => {
    let oldest = now
    for (const { head } of state.pending) oldest = Math.min(oldest, head.at)
    const { size: unfinished } = state.pending
    return {
      run,
      unfinished,
      oldestSeconds: (now - oldest) / 1000,
      finals: state.last,
      kept: state.kept,
      damaged: damage.length,
    }
  })
  const { scheduler, room } = queue
  const { isDiskFailing, droppedFinals } = queue.upkeep
  const { running, counts } = scheduler
  return { runs, running, bytes: room.bytes, isDiskFailing, droppedFinals, ...counts }
}

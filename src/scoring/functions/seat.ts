import type { ChunkQueue, Line } from './chunk-queue.ts'
import type { Executor } from './executor.ts'
import type { Waiting } from './job-list.ts'

/** A chunk that an executor has. */
export interface Given {
  readonly number: number
  readonly line: Line
  readonly jobs: readonly Waiting[]
  /** What one job may take; less than the time limit where others wait that may be quicker. */
  readonly limitMs: number
}

/** An executor, what it was given, and what the watch saw of it. */
export interface Seat {
  executor: Executor
  readonly startedAt: number
  isReady: boolean
  /** The running chunk first. */
  given: Given[]
  seenMark: number
  seenAt: number
}

/**
 * Which lines may have one more executor. Quick functions share `executors` of them, and so do all others: one more is
 * there than either may have. A function that hung lately has one at most, and those that did leave one to the others.
 * `isBehind`: for a chunk that waits behind another.
 */
export function lineRule(
  seats: Iterable<Seat>,
  queue: ChunkQueue,
  executors: number,
  isBehind: boolean,
): (line: Line) => boolean {
  let quick = 0
  let apart = 0
  let suspects = 0
  const running: string[] = []
  for (const { given } of seats) {
    const line = given[0]?.line
    if (!line) continue
    if (line.name === null) quick++
    else {
      apart++
      running.push(line.name)
      if (queue.isSuspect(line)) suspects++
    }
  }
  return (line) => {
    if (line.name === null) return isBehind || quick < executors
    if (isBehind || apart >= executors) return false
    return !queue.isSuspect(line) || (suspects < Math.max(1, executors - 1) && !running.includes(line.name))
  }
}

/** The jobs that may have ended their executor, and whether it is known that one of them did. */
export function suspectsOf(
  { executor, given }: Seat,
  isBroken: boolean,
): { readonly suspects: readonly Waiting[]; readonly areKnown: boolean } {
  const oldest = given[0]?.jobs ?? []
  if (isBroken) return { suspects: oldest, areKnown: true }
  const stage = executor.stage()
  const victim =
    'index' in stage ? given.find(({ number }) => number === stage.chunk)?.jobs[stage.index] : undefined
  return victim ? { suspects: [victim], areKnown: true } : { suspects: oldest, areKnown: false }
}

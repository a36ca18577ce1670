/**
 * Where an executor is in its chunk, in memory shared with the host, because code that hangs sends no messages. Three
 * integers: the number of the chunk, a mark, and a beat that stops when the executor's event loop is blocked.
 */
export type Progress = Int32Array<SharedArrayBuffer>

/** What an executor is doing. `index`: the job in the chunk of this number. `mark` differs between any two stages. */
export type Stage =
  | { readonly at: 'idle' }
  | {
      readonly at: 'loading' | 'running'
      readonly chunk: number
      readonly index: number
      readonly mark: number
    }

/** Size in bytes of a progress file. */
export const stageBytes = 12

const idle = -1
const indexLimit = 2 ** 20
const beatLimit = 2 ** 10

/** Progress of an executor that has begun nothing. */
export function idleProgress(): Progress {
  const progress = new Int32Array(new SharedArrayBuffer(stageBytes))
  progress[1] = idle
  return progress
}

/** Executor side: the function of the job at `index` is being loaded. */
export const loadingMark = (index: number): number => index * 2

/** Executor side: the author's code of the job at `index` begins. */
export const runningMark = (index: number): number => index * 2 + 1

/** Executor side: no author's code is running. */
export const idleMark = idle

/** Host side: the latest progress of a worker thread. */
export function stageOf(progress: Progress): Stage {
  return stage(progress[0] ?? 0, Atomics.load(progress, 1), 0)
}

/** Host side: the progress that a process wrote to its file. */
export function markStage(bytes: Buffer): Stage {
  return stage(bytes.readInt32LE(0), bytes.readInt32LE(4), bytes.readInt32LE(8))
}

/** The beat is part of the mark, so that a live executor is seen to make progress. */
function stage(chunk: number, mark: number, beat: number): Stage {
  if (mark < 0 || mark >= indexLimit) return { at: 'idle' }
  return {
    at: mark % 2 === 0 ? 'loading' : 'running',
    chunk,
    index: mark >> 1,
    mark: ((chunk % 2 ** 22) * beatLimit + (beat & (beatLimit - 1))) * indexLimit + mark,
  }
}

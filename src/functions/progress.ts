/** Where a worker is in its chunk, in memory that it shares with the host: code that hangs can say nothing else. */
export type Progress = Int32Array<SharedArrayBuffer>

/** What a worker is doing; `index` is the job's, `mark` differs between any two stages of a chunk. */
export type Stage =
  | { readonly at: 'idle' }
  | { readonly at: 'loading' | 'running'; readonly index: number; readonly mark: number }

const idle = -1

/** A worker that has begun nothing. */
export function idleProgress(): Progress {
  return new Int32Array(new SharedArrayBuffer(4)).fill(idle)
}

/** Worker side: the function of the job at `index` is being loaded. */
export function markLoading(progress: Progress, index: number): void {
  Atomics.store(progress, 0, index * 2)
}

/** Worker side: the author's code of the job at `index` begins. */
export function markRunning(progress: Progress, index: number): void {
  Atomics.store(progress, 0, index * 2 + 1)
}

/** Worker side: no author's code runs any more. */
export function markIdle(progress: Progress): void {
  Atomics.store(progress, 0, idle)
}

/** Host side: what the worker said last. */
export function stageOf(progress: Progress): Stage {
  return markStage(Atomics.load(progress, 0), 0)
}

/** A mark as a stage; `beat` is added to the stage's mark, so that a living executor is seen to move. */
export function markStage(mark: number, beat: number): Stage {
  if (mark === idle) return { at: 'idle' }
  return { at: mark % 2 === 0 ? 'loading' : 'running', index: mark >> 1, mark: mark + beat }
}

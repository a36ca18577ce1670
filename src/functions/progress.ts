/** Where each running chunk is, in memory shared with the workers: a chunk that hangs can say nothing else. */
const notStarted = -1
const finished = -2
const places = 1024

/** What a worker is doing with its chunk; `index` is the job's. */
export type Stage =
  | { readonly at: 'start' | 'end' }
  | { readonly at: 'loading' | 'running'; readonly index: number; readonly mark: number }

export type Progress = Int32Array<SharedArrayBuffer>

/** Places are taken in turn, so that a worker that is being ended cannot write to a place in use. */
export function sharedProgress(): { progress: Progress; take(): number } {
  const progress = new Int32Array(new SharedArrayBuffer(4 * places))
  let turn = 0
  return {
    progress,
    take() {
      const place = turn++ % places
      Atomics.store(progress, place, notStarted)
      return place
    },
  }
}

/** Worker side: the function of the job at `index` is being loaded. */
export const markLoading = (progress: Progress, place: number, index: number): void => {
  Atomics.store(progress, place, index * 2)
}

/** Worker side: the author's code of the job at `index` begins. */
export const markRunning = (progress: Progress, place: number, index: number): void => {
  Atomics.store(progress, place, index * 2 + 1)
}

/** Worker side: no author's code of this chunk runs any more. */
export const markFinished = (progress: Progress, place: number): void => {
  Atomics.store(progress, place, finished)
}

/** Host side: what the worker said last. */
export function stageOf(progress: Progress, place: number): Stage {
  const mark = Atomics.load(progress, place)
  if (mark === notStarted) return { at: 'start' }
  if (mark === finished) return { at: 'end' }
  return { at: mark % 2 === 0 ? 'loading' : 'running', index: mark >> 1, mark }
}

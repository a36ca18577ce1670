import type { Chunk, FunctionJob, JobResult } from '../job.ts'
import { idleMark, loadingMark, runningMark } from '../progress.ts'
import type { loader } from './load.ts'
import { runJob } from './run-job.ts'

/** After this long, the rest of a chunk goes back to the pool, because its other jobs may be as slow. */
const mostChunkMs = 50

/** Runs chunks of these functions, or only the first jobs of a slow one. `mark` reports progress to the host. */
export function chunkRunner(
  functions: ReturnType<typeof loader>,
  mark: (mark: number) => void,
): (chunk: Chunk, done: (result: JobResult, ms: number) => void) => Promise<void> {
  const { now } = performance
  const clock = now.bind(performance)
  return async (jobs, done) => {
    let until = Number.POSITIVE_INFINITY
    for (let index = 0; index < jobs.length; index++) {
      const job = jobs[index] as FunctionJob
      let loaded = functions.loaded.get(job.name)
      if (!loaded) {
        mark(loadingMark(index))
        loaded = await functions.load(job.name)
      }
      mark(job.type === 'call' ? runningMark(index) : loadingMark(index))
      const begun = clock()
      if (until === Number.POSITIVE_INFINITY) until = begun + mostChunkMs
      else if (begun > until) break
      const result = runJob(loaded, job)
      done(result, clock() - begun)
    }
    mark(idleMark)
  }
}

import type { FunctionSource } from '../discover.ts'
import type { Chunk, ChunkResult, Job, JobResult } from '../job.ts'
import { idleMark, loadingMark, runningMark } from '../progress.ts'
import { type Loaded, loader } from './load.ts'
import { bind, describe, runCall } from './run-job.ts'

/** After so long a chunk is left to its executor's pool: what took so long may have others behind it that take as long. */
const mostChunkMs = 50

/** Runs chunks of these functions, or the first jobs of one that takes long; `mark` tells the host where it is. */
export function chunkRunner(
  sources: readonly FunctionSource[],
  mark: (mark: number) => void,
): (chunk: Chunk, done: (result: JobResult, ms: number) => void) => Promise<void> {
  const load = loader(sources)
  const { now } = performance
  const clock = now.bind(performance)
  return async (jobs, done) => {
    let until = Number.POSITIVE_INFINITY
    for (let index = 0; index < jobs.length; index++) {
      const job = jobs[index] as Job
      let loaded = load.cached(job.name)
      if (!loaded) {
        mark(loadingMark(index))
        loaded = await load.fresh(job.name)
      }
      mark(job.type === 'call' ? runningMark(index) : loadingMark(index))
      const begun = clock()
      if (until === Number.POSITIVE_INFINITY) until = begun + mostChunkMs
      else if (begun > until) break
      const result = run(loaded, job)
      done(result, clock() - begun)
    }
    mark(idleMark)
  }
}

function run(loaded: Loaded, job: Job): JobResult {
  if (!loaded.ok) return { type: 'invalid', reason: loaded.reason }
  if (job.type === 'describe') return describe(job.name, loaded.fn)
  return job.type === 'bind' ? bind(loaded.fn, job.options) : runCall(loaded.fn, job)
}

/** Results as a whole. */
export async function resultsOf(run: ReturnType<typeof chunkRunner>, chunk: Chunk): Promise<ChunkResult> {
  const results: JobResult[] = []
  const ms: number[] = []
  await run(chunk, (result, took) => {
    results.push(result)
    ms.push(took)
  })
  return { results, ms }
}

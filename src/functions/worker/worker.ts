import { Console } from 'node:console'
import { workerData } from 'node:worker_threads'
import type { Chunk, ChunkResult, JobResult } from '../job.ts'
import { markFinished, markLoading, markRunning, type Progress } from '../progress.ts'
import type { FunctionSource } from '../source.ts'
import { bind, describe } from './describe.ts'
import { errorPlace } from './error-text.ts'
import { loader } from './load.ts'
import { runCall } from './run-call.ts'

const { progress, sources } = workerData as { progress: Progress; sources: readonly FunctionSource[] }
const load = loader(sources)

// Standard output belongs to the command line's results.
globalThis.console = new Console(process.stderr)
process.stdout.write = process.stderr.write.bind(process.stderr)

// Code that an author left running after its call must not end the call that runs now.
const stray = (error: unknown): void => {
  process.stderr.write(`a reward function's own late code ${errorPlace(error)}\n`)
}
process.on('unhandledRejection', stray)
process.on('uncaughtException', stray)

/** What a worker does: the jobs of a chunk, one after the other. Never rejects. */
export async function runChunk({ place, jobs }: Chunk): Promise<ChunkResult> {
  const results: JobResult[] = []
  const ms: number[] = []
  for (const [index, job] of jobs.entries()) {
    markLoading(progress, place, index)
    const loaded = load.cached(job.name) ?? (await load.fresh(job.name))
    if (job.type === 'call') markRunning(progress, place, index)
    const begun = performance.now()
    results.push(
      !loaded.ok
        ? { type: 'invalid', reason: loaded.reason }
        : job.type === 'describe'
          ? describe(job.name, loaded.fn)
          : job.type === 'bind'
            ? bind(loaded.fn, job.options)
            : runCall(loaded.fn, job),
    )
    ms.push(performance.now() - begun)
  }
  markFinished(progress, place)
  return { results, ms }
}

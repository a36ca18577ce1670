import { Console } from 'node:console'
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { type ChunkMessage, packResults, unpackChunk } from '../chunk-message.ts'
import type { Chunk, Job, JobResult } from '../job.ts'
import { markIdle, markLoading, markRunning, type Progress } from '../progress.ts'
import type { FunctionSource } from '../source.ts'
import { bind, describe } from './describe.ts'
import { errorPlace } from './error-text.ts'
import { type Loaded, loader } from './load.ts'
import { runCall } from './run-call.ts'

const { progress, sources } = workerData as { progress: Progress; sources: readonly FunctionSource[] }
const port = parentPort as MessagePort
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

/** The jobs of a chunk, one after the other; one message back. */
async function runChunk(jobs: Chunk): Promise<void> {
  const results: JobResult[] = []
  const ms: number[] = []
  for (let index = 0; index < jobs.length; index++) {
    const job = jobs[index] as Job
    let loaded = load.cached(job.name)
    if (!loaded) {
      markLoading(progress, index)
      loaded = await load.fresh(job.name)
    }
    if (job.type === 'call') markRunning(progress, index)
    else markLoading(progress, index)
    const begun = performance.now()
    results.push(run(loaded, job))
    ms.push(performance.now() - begun)
  }
  markIdle(progress)
  port.postMessage(packResults({ results, ms }))
}

function run(loaded: Loaded, job: Job): JobResult {
  if (!loaded.ok) return { type: 'invalid', reason: loaded.reason }
  if (job.type === 'describe') return describe(job.name, loaded.fn)
  return job.type === 'bind' ? bind(loaded.fn, job.options) : runCall(loaded.fn, job)
}

port.on('message', (message: ChunkMessage) => void runChunk(unpackChunk(message)))
port.postMessage('ready')

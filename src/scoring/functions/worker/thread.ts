/** Entry of a thread that runs the package's own functions. Users' code is never loaded here. */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { type ChunkMessage, packResults, unpackChunk } from '../chunk-message.ts'
import type { FunctionSource } from '../discover.ts'
import type { JobResult } from '../job.ts'
import type { Progress } from '../progress.ts'
import { warmingCalls } from '../warming.ts'
import { loader } from './load.ts'
import { chunkRunner } from './run-chunk.ts'
import { runJob } from './run-job.ts'

const { progress, sources, used } = workerData as {
  progress: Progress
  sources: readonly FunctionSource[]
  /** Functions that are loaded and warmed before any row comes, with options. */
  used: readonly (readonly [name: string, options: string])[]
}
const port = parentPort as MessagePort
const functions = loader(sources)
const run = chunkRunner(functions, (mark) => Atomics.store(progress, 1, mark))

async function answer(message: ChunkMessage): Promise<void> {
  const results: JobResult[] = []
  const ms: number[] = []
  await run(unpackChunk(message), (result, took) => {
    results.push(result)
    ms.push(took)
  })
  port.postMessage(packResults({ results, ms }))
}

port.on('message', (message: ChunkMessage) => {
  progress[0] = (progress[0] ?? 0) + 1
  void answer(message)
})
for (const [name, options] of used) {
  const loaded = await functions.load(name)
  for (const call of warmingCalls(name, options)) runJob(loaded, call)
}
port.postMessage('ready')

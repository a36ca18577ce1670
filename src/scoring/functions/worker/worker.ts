/** A thread that runs the package's own functions; no user's code is ever loaded here. */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { type ChunkMessage, packResults, unpackChunk } from '../chunk-message.ts'
import type { FunctionSource } from '../discover.ts'
import type { Progress } from '../progress.ts'
import { chunkRunner, resultsOf } from './run-chunk.ts'

const { progress, sources } = workerData as { progress: Progress; sources: readonly FunctionSource[] }
const port = parentPort as MessagePort
const run = chunkRunner(sources, (mark) => Atomics.store(progress, 1, mark))

port.on('message', (message: ChunkMessage) => {
  progress[0] = (progress[0] ?? 0) + 1
  void resultsOf(run, unpackChunk(message)).then((result) => port.postMessage(packResults(result)))
})
port.postMessage('ready')

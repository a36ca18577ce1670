/** Entry of a process that runs users' functions. It captures all built-ins it needs before it loads their code. */
import { writeSync } from 'node:fs'
import { Socket } from 'node:net'
import { errorPlace } from '../../../core/error-place.ts'
import { type ChunkMessage, unpackChunk } from '../chunk-message.ts'
import type { FunctionSource } from '../discover.ts'
import { FrameReader, frame } from '../frames.ts'
import { type EncodedResult, encodeResult } from '../node-messages.ts'
import { stageBytes } from '../progress.ts'
import { loader } from './load.ts'
import { chunkRunner } from './run-chunk.ts'

/** Results are sent once they have this many characters, so that each message is quick to read. */
const sendAt = 256 * 1024
const progressFile = 4

const { parse, stringify } = JSON
const socket = new Socket({ fd: 3, readable: true, writable: true })
const write = socket.write.bind(socket)
const exit = process.exit.bind(process)
const stage = Buffer.alloc(stageBytes)
const writeFile = writeSync
const writeInt = stage.writeInt32LE.bind(stage)

// Code that is still running after its call has ended must not end the current call.
const stray = (error: unknown): void => {
  process.stderr.write(`a reward function's own late code ${errorPlace(error)}\n`)
}
process.on('unhandledRejection', stray)
process.on('uncaughtException', stray)

const tell = (mark: number) => {
  writeInt(mark, 4)
  writeFile(progressFile, stage, 0, stageBytes, 0)
}
/** Set by the first message, which holds the functions. */
let run: ReturnType<typeof chunkRunner> = async () => {}
let isTold = false

/** `key`: must come back with the results. */
interface Request {
  readonly chunk: number
  readonly key: string
  readonly jobs: ChunkMessage
}

/** Runs the jobs of a chunk in order, and sends their results in short messages. */
async function answer({ chunk, key, jobs }: Request): Promise<void> {
  let results: string[] = []
  let ms: number[] = []
  let length = 0
  const send = (isEnd: boolean) => {
    write(frame(`{"key":"${key}","end":${isEnd},"ms":${stringify(ms)},"results":[${results.join()}]}`))
    results = []
    ms = []
    length = 0
  }
  writeInt(chunk, 0)
  await run(unpackChunk(jobs), (result, took) => {
    const text = stringify(encodeResult(result) satisfies EncodedResult)
    results[results.length] = text
    ms[ms.length] = took
    length += text.length
    if (length > sendAt) send(false)
  })
  send(true)
}

const waiting: Request[] = []
let isAnswering = false

/** Answers one chunk at a time. It avoids `then`, which an author's code may have replaced. */
async function answerAll(): Promise<void> {
  if (isAnswering) return
  isAnswering = true
  for (let next = waiting.shift(); next; next = waiting.shift()) await answer(next)
  isAnswering = false
}

const reader = new FrameReader((text) => {
  if (isTold) {
    waiting[waiting.length] = parse(text) as Request
    void answerAll()
  } else {
    isTold = true
    run = chunkRunner(loader(parse(text) as FunctionSource[]), tell)
  }
}, true)
socket.on('data', (bytes: Buffer) => {
  if (!reader.read(bytes)) exit(1)
})
socket.on('error', () => exit(0))
socket.on('end', () => exit(0))
write(frame(stringify('ready')))

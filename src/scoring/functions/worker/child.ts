/** A process that runs users' functions. What it needs after their code has run, it holds before that code is loaded. */
import { writeSync } from 'node:fs'
import { Socket } from 'node:net'
import { type ChunkMessage, unpackChunk } from '../chunk-message.ts'
import type { FunctionSource } from '../discover.ts'
import { FrameReader, frame } from '../frames.ts'
import { type SaidResult, sayResult } from '../node-messages.ts'
import { stageBytes } from '../progress.ts'
import { errorPlace } from './error-text.ts'
import { chunkRunner } from './run-chunk.ts'

/** What waits to be sent goes once it has so many characters: a message must be read in a moment. */
const sendAt = 256 * 1024
const progressFile = 4

const { parse, stringify } = JSON
const socket = new Socket({ fd: 3, readable: true, writable: true })
const write = socket.write.bind(socket)
const exit = process.exit.bind(process)
const stage = Buffer.alloc(stageBytes)
const writeFile = writeSync
const writeInt = stage.writeInt32LE.bind(stage)

// Code that an author left running after its call must not end the call that runs now.
const stray = (error: unknown): void => {
  process.stderr.write(`a reward function's own late code ${errorPlace(error)}\n`)
}
process.on('unhandledRejection', stray)
process.on('uncaughtException', stray)

const tell = (mark: number) => {
  writeInt(mark, 4)
  writeFile(progressFile, stage, 0, stageBytes, 0)
}
/** Of the functions in the first message. */
let run: ReturnType<typeof chunkRunner> = async () => {}
let isTold = false

/** `key`: what the gateway knows the results by. */
interface Request {
  readonly chunk: number
  readonly key: string
  readonly jobs: ChunkMessage
}

/** The jobs of a chunk, one after the other, and their results in messages that are not long. */
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
    const text = stringify(sayResult(result) satisfies SaidResult)
    results[results.length] = text
    ms[ms.length] = took
    length += text.length
    if (length > sendAt) send(false)
  })
  send(true)
}

const waiting: Request[] = []
let isAnswering = false

/** One chunk after the other; without `then`, which an author's code may have replaced. */
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
    run = chunkRunner(parse(text) as FunctionSource[], tell)
  }
}, true)
socket.on('data', (bytes: Buffer) => {
  if (!reader.read(bytes)) exit(1)
})
socket.on('error', () => exit(0))
socket.on('end', () => exit(0))
write(frame(stringify('ready')))

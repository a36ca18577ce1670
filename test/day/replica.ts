import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { descendantsOf } from '../support/descendants.ts'
import type { ReplicaFigures, ReplicaOrder } from './gateway-figures.ts'

const ticksPerSecond = 100
const readyWithinMs = 120_000
/** Of a block of the loop. */
const tooLongMs = 50

/** A gateway at one port over all its restarts, with what it used. */
export interface Replica {
  /** Ticks of its loop by the milliseconds that it was blocked before, while it served. */
  readonly blocks: ReadonlyMap<number, number>
  readonly peakRss: number
  /** Told of each block that is longer than it may be. */
  onBlock: (ms: number) => void
  /** Forgets what came before the step. */
  begin(): void
  /** Resolves once /readyz says so. */
  start(): Promise<void>
  /** Ends it as SIGTERM does; the exit code. */
  stop(): Promise<number | null>
  kill(): Promise<void>
  /** CPU milliseconds that all its processes so far took to serve, without those that start them, and without watching the loop. */
  cpuMs(): number
  /** Milliseconds in which its loop stood in line for a core of a busy machine. */
  waitedMs(): number
  /** Samples of a metric whose labels hold all of these texts, summed. NaN: nobody answers. */
  metric(name: string, ...labels: readonly string[]): Promise<number>
  /** The versions of its rewards by name; none while nobody answers. */
  versions(): Promise<ReadonlyMap<string, string>>
  /** Bytes of the heap that are in use after a full collection. */
  heapAtRest(): Promise<number>
  /** The processes that it has started and that run. */
  descendants(): readonly number[]
}

/** A replica that is a process, started as docs/performance.md advises. */
export class ReplicaProcess implements Replica {
  readonly port: number
  readonly blocks = new Map<number, number>()
  peakRss = 0
  onBlock = (_ms: number): void => {}
  readonly #folder: string
  readonly #env: Readonly<Record<string, string>>
  #child: ChildProcess | null = null
  #isServing = false
  /** CPU milliseconds of processes that have ended, and of this one before it served. */
  #spent = 0
  #startingCost = 0
  #lastCpu = 0
  /** CPU milliseconds that watching the loop took while it served, and what a tick of gateway-figures costs. */
  #watched = 0
  #tickCostMs: number | null = null
  #lastWaited = 0
  #waitedBefore = 0

  constructor(port: number, folder: string, env: Readonly<Record<string, string>>) {
    this.port = port
    this.#folder = folder
    this.#env = env
    process.once('exit', () => this.#child?.kill('SIGKILL'))
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`
  }

  get pid(): number {
    return this.#child?.pid ?? 0
  }

  async start(): Promise<void> {
    const preload = ['--import', join(import.meta.dirname, 'gateway-figures.js'), '--expose-gc']
    const serve = ['serve', '--config', this.#folder, '--port', String(this.port), '--log-level', 'fatal']
    const args = [...preload, '--max-semi-space-size=64', 'dist/src/cli/main.js', ...serve]
    const env = { ...process.env, ...this.#env, NODE_V8_COVERAGE: undefined }
    const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
    this.#child = child
    child.on('message', (figures) => this.#keep(figures as ReplicaFigures))
    const began = performance.now()
    for (;;) {
      const answer = await fetch(`${this.url}/readyz`).catch(() => null)
      await answer?.arrayBuffer()
      if (answer?.ok) break
      if (child.exitCode !== null) throw new Error(`a replica ended with ${child.exitCode}`)
      if (performance.now() - began > readyWithinMs) throw new Error(`${this.url} is not ready`)
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    // What it tells next is of the time from here on: on a fast machine, starting takes less than the second between two messages.
    await this.heapAtRest()
    if (this.#tickCostMs === null) await this.#weigh()
    else this.#order(this.#tickCostMs)
    this.#startingCost = cpuMsOf(this.pid)
    this.#isServing = true
  }

  async stop(): Promise<number | null> {
    const child = this.#child
    if (!child) return null
    this.cpuMs()
    const exited = once(child, 'exit')
    child.kill('SIGTERM')
    const looks = setInterval(() => this.cpuMs(), 200)
    await exited
    clearInterval(looks)
    this.#retire()
    return child.exitCode
  }

  async kill(): Promise<void> {
    const child = this.#child
    if (!child) return
    this.cpuMs()
    const exited = once(child, 'exit')
    child.kill('SIGKILL')
    await exited
    this.#retire()
  }

  reload(): void {
    this.#child?.kill('SIGHUP')
  }

  cpuMs(): number {
    const now = this.#isServing ? cpuMsOf(this.pid) : 0
    if (now > 0) this.#lastCpu = now - this.#startingCost
    return this.#spent + this.#lastCpu - this.#watched
  }

  waitedMs(): number {
    const now = waitedMsOf(this.pid)
    if (now > 0) this.#lastWaited = now
    return this.#waitedBefore + this.#lastWaited
  }

  metric(name: string, ...labels: readonly string[]): Promise<number> {
    return metricAt(this.url, name, labels)
  }

  versions(): Promise<ReadonlyMap<string, string>> {
    return versionsAt(this.url)
  }

  heapAtRest(): Promise<number> {
    return new Promise((resolve) => {
      const listen = ({ isCollected, heapUsed }: ReplicaFigures) => {
        if (!isCollected) return
        this.#child?.off('message', listen)
        resolve(heapUsed)
      }
      this.#child?.on('message', listen)
      this.#order('collect')
    })
  }

  /** Finds out what a tick costs while nobody is served. */
  #weigh(): Promise<void> {
    return new Promise((resolve) => {
      const listen = ({ tickCostMs }: ReplicaFigures) => {
        if (tickCostMs === undefined) return
        this.#child?.off('message', listen)
        this.#tickCostMs = tickCostMs
        resolve()
      }
      this.#child?.on('message', listen)
      this.#order('weigh')
    })
  }

  #order(order: ReplicaOrder): void {
    this.#child?.send(order)
  }

  descendants(): readonly number[] {
    return descendantsOf(this.pid)
  }

  begin(): void {
    this.blocks.clear()
    this.peakRss = 0
  }

  #keep({ blocks, watchedMs, rss, isCollected }: ReplicaFigures): void {
    this.peakRss = Math.max(this.peakRss, rss)
    // Starting blocks the loop while nobody is served, and the collection is ours.
    if (!this.#isServing || isCollected) return
    this.#watched += watchedMs
    for (const [ms, count] of blocks) {
      this.blocks.set(ms, (this.blocks.get(ms) ?? 0) + count)
      if (ms > tooLongMs) this.onBlock(ms)
    }
  }

  #retire(): void {
    this.#isServing = false
    this.#spent += this.#lastCpu
    this.#lastCpu = 0
    this.#waitedBefore += this.#lastWaited
    this.#lastWaited = 0
    this.#child = null
  }
}

/** See Replica. */
export async function metricAt(url: string, name: string, labels: readonly string[]): Promise<number> {
  const text = await fetch(`${url}/metrics`).then(
    (answer) => answer.text(),
    () => null,
  )
  if (text === null) return Number.NaN
  const lines = text
    .split('\n')
    .filter((line) => line.startsWith(name) && /^[ {]/.test(line.slice(name.length)))
    .filter((line) => labels.every((label) => line.includes(label)))
  return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0)
}

/** See Replica. */
export async function versionsAt(url: string): Promise<ReadonlyMap<string, string>> {
  const answer = await fetch(`${url}/v1/rewards`).catch(() => null)
  if (!answer) return new Map()
  const { rewards } = (await answer.json()) as { rewards: readonly { name: string; version: string }[] }
  return new Map(rewards.map(({ name, version }) => [name, version]))
}

/** 0 where the process has gone. */
function cpuMsOf(pid: number): number {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
    return ((Number(fields[11]) + Number(fields[12])) * 1000) / ticksPerSecond
  } catch {
    return 0
  }
}

/** Of the main thread. 0 where the process has gone or the kernel does not tell. */
export function waitedMsOf(pid: number | 'self'): number {
  try {
    return Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[1]) / 1e6
  } catch {
    return 0
  }
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

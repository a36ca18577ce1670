import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** How programs are confined: with namespaces, with Landlock and seccomp only, or not at all. */
export type Level = 'namespaces' | 'landlock' | 'none'

/** What a zygote says when it has started. */
export interface Greeting {
  readonly level: Level
  /** Why a better level does not hold. */
  readonly missing: readonly string[]
  /** What a confined program can still do that it must not. */
  readonly open: readonly string[]
  /** Version of Python. */
  readonly python: string
  /** Versions of the other languages, and why those that were wanted cannot be used. */
  readonly languages: Readonly<Record<string, string>>
  readonly absent: Readonly<Record<string, string>>
}

/** The path of zygote.py. */
export const zygoteFile = fileURLToPath(
  new URL(
    import.meta.url.endsWith('.ts') ? './zygote.py' : '../../../../src/scoring/sandboxes/zygote.py',
    import.meta.url,
  ),
)

/** A longer answer than any that a case can give: standard output and a value at their limit, escaped. */
const longestAnswer = 256 * 1024 * 1024

/** Thrown when a zygote has ended or answers nonsense. */
export class ZygoteGone extends Error {
  override readonly name = 'ZygoteGone' as const
}

/** The other side of zygote.py, which describes the messages. One exchange at a time. */
export class Zygote {
  readonly #process: ChildProcess
  #pieces: Buffer[] = []
  #bytes = 0
  #waiting: { resolve(answer: unknown): void; reject(error: Error): void } | null = null
  #gone: ZygoteGone | null = null

  /** `languages`: those besides Python. */
  constructor(python: string, wanted: Level, languages: readonly string[]) {
    // An empty environment: nothing of the gateway's is there to be read. Symbols are bound once, and not in every process.
    this.#process = spawn(python, ['-I', '-S', zygoteFile, wanted, ...languages], {
      env: { PATH: process.env.PATH ?? '', LD_BIND_NOW: '1' },
      stdio: ['pipe', 'pipe', 'ignore'],
    })
    this.#process.on('error', (error) => this.#end(`${python} does not start: ${error.message}`))
    this.#process.on('exit', (code, signal) => this.#end(`it ended (${signal ?? code})`))
    this.#process.stdin?.on('error', () => {})
    this.#process.stdout?.on('data', (bytes: Buffer) => this.#take(bytes))
  }

  get isGone(): boolean {
    return this.#gone !== null
  }

  /** The greeting. Call it first. */
  greeting(): Promise<Greeting> {
    return this.#answer() as Promise<Greeting>
  }

  /** Sends a message and resolves to its answer. Rejects with ZygoteGone. */
  exchange(message: object): Promise<unknown> {
    this.tell(message)
    return this.#answer()
  }

  /** Sends a message that has no answer. */
  tell(message: object): void {
    const body = Buffer.from(JSON.stringify(message))
    const head = Buffer.alloc(4)
    head.writeUInt32BE(body.length)
    this.#process.stdin?.write(Buffer.concat([head, body]))
  }

  /** Kills it with all that it runs. */
  kill(): void {
    this.#process.kill('SIGKILL')
    this.#end('it was stopped')
  }

  /** Whether waiting for it keeps this process alive. */
  hold(isNeeded: boolean): void {
    const parts = [this.#process, this.#process.stdin, this.#process.stdout] as {
      ref?(): void
      unref?(): void
    }[]
    for (const part of parts) (isNeeded ? part.ref : part.unref)?.call(part)
  }

  #answer(): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.#gone) reject(this.#gone)
      else this.#waiting = { resolve, reject }
    })
  }

  #take(bytes: Buffer): void {
    this.#pieces.push(bytes)
    this.#bytes += bytes.length
    if (this.#bytes < 4) return
    const [first] = this.#pieces as [Buffer]
    const head = first.length >= 4 ? first : Buffer.concat(this.#pieces)
    const length = head.readUInt32BE(0)
    if (length > longestAnswer) {
      this.kill()
      return
    }
    if (this.#bytes < 4 + length) return
    const all = Buffer.concat(this.#pieces)
    this.#pieces = []
    this.#bytes = 0
    const waiting = this.#waiting
    this.#waiting = null
    try {
      // The other side waits for the next message before it writes again.
      if (!waiting || all.length !== 4 + length) throw new SyntaxError()
      waiting.resolve(JSON.parse(all.toString('utf8', 4)))
    } catch {
      waiting?.reject(new ZygoteGone('it sent no JSON'))
      this.kill()
    }
  }

  #end(why: string): void {
    this.#gone ??= new ZygoteGone(why)
    this.#waiting?.reject(this.#gone)
    this.#waiting = null
  }
}

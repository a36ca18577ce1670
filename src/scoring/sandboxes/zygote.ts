import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { type Answer, type CaseMessage, unsealed } from './case-result.ts'

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

/** The bit of a message's length that says that a case asks for a value. */
const asksValue = 2 ** 31

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

  /** Sends a program and resolves to whether it compiles. Rejects with ZygoteGone. */
  begin(program: object): Promise<unknown> {
    return this.#exchange(program, 0)
  }

  /** Sends a case and resolves to how it ended. Rejects with ZygoteGone. */
  async runCase(input: CaseMessage): Promise<Answer> {
    return unsealed((await this.#exchange(input, 'stdin' in input ? 0 : asksValue)) as Answer, input)
  }

  /** Ends the program. */
  end(): void {
    this.#process.stdin?.write(Buffer.alloc(4))
  }

  #exchange(message: object, flag: number): Promise<unknown> {
    const body = Buffer.from(JSON.stringify(message))
    const head = Buffer.alloc(4)
    head.writeUInt32BE(body.length + flag)
    this.#process.stdin?.write(Buffer.concat([head, body]))
    return this.#answer()
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
      waiting.resolve(messageIn(all.subarray(4)))
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

/** A message: JSON, and after a line break the texts whose sizes it tells. Throws SyntaxError. */
function messageIn(body: Buffer): object {
  const headEnd = body.indexOf(10)
  if (headEnd < 0) return JSON.parse(body.toString())
  const { sizes, ...about } = JSON.parse(body.toString('utf8', 0, headEnd)) as Told
  const starts = sizes.map((_, at) => sizes.slice(0, at).reduce((sum, size) => sum + size, headEnd + 1))
  const [stdout = '', stderr = '', value = ''] = starts.map((start, at) =>
    body.toString('utf8', start, start + (sizes[at] ?? 0)),
  )
  const texts = { ...about, stdout, stderr }
  if (value === '') return texts
  try {
    return { ...texts, value: JSON.parse(value) as unknown }
  } catch {
    // The program wrote it itself.
    return { ...texts, ended: 'tampered' }
  }
}

type Told = Omit<Answer, 'stdout' | 'stderr' | 'value'> & { readonly sizes: readonly number[] }

import { type ChildProcess, spawn } from 'node:child_process'
import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  ftruncateSync,
  mkdtempSync,
  openSync,
  readSync,
  rmSync,
} from 'node:fs'
import type { Socket } from 'node:net'
import { constants as system, tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { markStage, type Stage, stageBytes } from './progress.ts'

const shell = '/bin/sh'
const hasShell = process.platform !== 'win32' && existsSync(shell)
const politeMs = 1000

/**
 * The command runs under a shell in its own process group, so that it can only harm that shell and that group. The shell
 * waits for a line, then kills the command and passes on its exit status. If the pipe closes without a line, this process
 * has died, and the shell kills the whole group.
 */
const script = `ulimit -c 0 2>/dev/null
[ "$0" -gt 0 ] && ulimit -d "$0" 2>/dev/null
"$@" 5<&- &
exec 3<&- 4<&- >/dev/null 2>&1
if read -r _ <&5; then kill -9 $! 2>/dev/null; wait $!; exit $?; fi
kill -9 0`

/** How to start the process. */
export interface ChildOptions {
  readonly command: string
  readonly args: readonly string[]
  readonly env: NodeJS.ProcessEnv
  /** Private memory in MiB, as far as the system can limit it; 0: the program limits its own. */
  readonly memoryMb: number
}

/** What a child reports. */
interface ChildEvents {
  data(bytes: Buffer): void
  /** It ended, and everything it sent was read. Not called after `end`. */
  gone(reason: string): void
}

/** A child process with a socket at descriptor 3 and its progress file at 4. Its printed output is rate limited. */
export class Child {
  readonly #process: ChildProcess
  readonly #socket: Socket
  readonly #guard: Socket
  readonly #others: readonly Socket[]
  readonly #progress: number
  readonly #bytes = Buffer.alloc(stageBytes)
  readonly #gone: Promise<void>
  #hasSpoken = false
  #isExited = false
  #isKilled = false
  #isEnded = false
  #isClosed = false

  constructor({ command, args, env, memoryMb }: ChildOptions, events: ChildEvents) {
    this.#progress = sharedFile()
    const [file, all] = hasShell
      ? [shell, ['-c', script, String(memoryMb * 1024), command, ...args]]
      : [command, [...args]]
    const child = spawn(file, all, {
      stdio: ['ignore', 'pipe', 'pipe', 'pipe', this.#progress, 'pipe'],
      env,
      detached: hasShell,
    })
    this.#process = child
    // When no file descriptors are left, the child has no streams and reports it in an event.
    if (child.stdio === undefined) {
      closeSync(this.#progress)
      child.on('error', () => {})
      throw Object.assign(new Error('no descriptors are left'), { code: 'EMFILE' })
    }
    const [, stdout, stderr, socket, , guard] = child.stdio as unknown as Socket[]
    this.#socket = socket as Socket
    this.#guard = guard as Socket
    this.#others = [stdout, stderr, guard] as Socket[]
    const output = new BoundedOutput()
    for (const stream of [stdout, stderr]) output.take(stream as Readable)
    this.#guard.on('error', () => {})
    this.#socket.on('error', () => {})
    this.#socket.on('data', (bytes: Buffer) => {
      this.#hasSpoken = true
      if (!this.#isEnded) events.data(bytes)
    })
    this.#gone = this.#watchEnd(command, events)
    // Only the socket keeps this process alive, and only while there is work.
    for (const one of [child, ...this.#others]) one.unref()
  }

  #watchEnd(command: string, events: ChildEvents): Promise<void> {
    const drained = new Promise<void>((resolve) => this.#socket.once('close', resolve))
    // Only the child holds the other end, so it has ended or wants to.
    void drained.then(() => this.kill())
    return new Promise((resolve) => {
      let isSaid = false
      const say = (reason: string): void => {
        if (isSaid) return
        isSaid = true
        this.#killGroup()
        // Its last messages may still be in the socket.
        const timer = setTimeout(() => this.#socket.destroy(), politeMs)
        void drained.then(() => {
          clearTimeout(timer)
          for (const one of this.#others) one.destroy()
          if (!this.#isEnded) events.gone(reason)
          this.#isClosed = true
          closeSync(this.#progress)
          resolve()
        })
      }
      this.#process.on('error', (error) => {
        this.#socket.destroy()
        say(unstartable(command, (error as NodeJS.ErrnoException).code))
      })
      this.#process.on('exit', (code, signal) => {
        this.#isExited = true
        say(reasonOf(command, this.#hasSpoken, code, signal))
      })
    })
  }

  /** Kills it, as if it had crashed. */
  kill(): void {
    if (this.#isExited || this.#isKilled) return
    this.#isKilled = true
    if (!hasShell) {
      this.#process.kill('SIGKILL')
      return
    }
    this.#guard.write('\n')
    const timer = setTimeout(() => this.#killGroup(), politeMs)
    this.#process.once('exit', () => clearTimeout(timer))
  }

  /** Kills what is left of the group, including processes that the child started. */
  #killGroup(): void {
    const { pid } = this.#process
    if (!hasShell || pid === undefined) return
    try {
      process.kill(-pid, 'SIGKILL')
    } catch {
      // The group is gone already.
    }
  }

  send(bytes: Buffer): void {
    this.#socket.write(bytes)
  }

  /** Its latest progress. */
  stage(): Stage {
    if (this.#isClosed) return { at: 'idle' }
    try {
      readSync(this.#progress, this.#bytes, 0, stageBytes, 0)
    } catch {
      return { at: 'idle' }
    }
    return markStage(this.#bytes)
  }

  /** Sets whether the child keeps this process alive. */
  hold(isHeld: boolean): void {
    if (isHeld) this.#socket.ref()
    else this.#socket.unref()
  }

  /** Ends it and everything it started. `isIdle`: it runs nothing and may exit by itself. */
  async end(isIdle: boolean): Promise<void> {
    if (!this.#isEnded) {
      this.#isEnded = true
      // An idle child does not keep this process alive: without this, the program could exit before it sees the child's end.
      this.#process.ref()
      if (isIdle) {
        this.#socket.end()
        const timer = setTimeout(() => this.kill(), politeMs)
        void this.#gone.then(() => clearTimeout(timer))
      } else {
        this.kill()
      }
    }
    await this.#gone
  }
}

const unstartable = (command: string, code = 'unknown'): string => `${command} cannot be started: ${code}`

/** A shell exits with 126 or 127 if it cannot start a command, and with 128 plus the signal that killed one. */
function reasonOf(
  command: string,
  hasSpoken: boolean,
  code: number | null,
  signal: NodeJS.Signals | null,
): string {
  if (hasShell && !hasSpoken && code === 127) return unstartable(command, 'ENOENT')
  if (hasShell && !hasSpoken && code === 126) return unstartable(command, 'EACCES')
  const number = hasShell && code !== null && code > 128 ? code - 128 : 0
  const name = signal ?? Object.entries(system.signals).find(([, one]) => one === number)?.[0]
  if (name === 'SIGABRT') return 'the process ended: SIGABRT, as when it is out of memory'
  return `the process ended: ${name ?? `exit code ${code}`}`
}

/** An unlinked file that both processes hold open: the progress of the child. */
function sharedFile(): number {
  const folder = [tmpdir(), '/dev/shm'].find(isWritable) ?? tmpdir()
  const place = mkdtempSync(join(folder, 'reward-gateway-'))
  try {
    const descriptor = openSync(join(place, 'progress'), 'w+')
    ftruncateSync(descriptor, stageBytes)
    return descriptor
  } finally {
    rmSync(place, { recursive: true, force: true })
  }
}

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK)
    return true
  } catch {
    return false
  }
}

/** Bytes of output that are passed on at once, and per second after that. */
const burstBytes = 64 * 1024
const bytesPerSecond = 16 * 1024
/** Bytes that are read per second, passed on or not. A function that prints more has to wait. */
const readPerSecond = 8 * 1024 * 1024

/** Passes on what authors' code prints to this process's standard error. A flood is cut and costs little to read. */
export class BoundedOutput {
  readonly #write: (text: string | Buffer) => void
  readonly #now: () => number
  #budget = burstBytes
  #budgetAt: number
  #left = readPerSecond
  #leftAt: number
  #dropped = 0

  /** `now`: milliseconds, monotonic. */
  constructor(
    write: (text: string | Buffer) => void = (text) => process.stderr.write(text),
    now = () => performance.now(),
  ) {
    this.#write = write
    this.#now = now
    this.#budgetAt = now()
    this.#leftAt = this.#budgetAt
  }

  /** Reads a stream of the executor until it ends. */
  take(stream: Readable): void {
    stream.on('error', () => {})
    stream.on('data', (bytes: Buffer) => {
      const waitMs = this.pass(bytes)
      if (waitMs === 0) return
      stream.pause()
      setTimeout(() => stream.resume(), waitMs).unref()
    })
  }

  /** Passes on what fits. Returns how many milliseconds to wait before reading more. */
  pass(bytes: Buffer): number {
    const now = this.#now()
    const earned = Math.floor(((now - this.#budgetAt) / 1000) * bytesPerSecond)
    if (earned > 0) {
      this.#budget = Math.min(burstBytes, this.#budget + earned)
      this.#budgetAt = now
    }
    // Wait for half a burst, so that a flood leaves one notice every two seconds and not one for each line.
    const isOpen = this.#dropped === 0 || this.#budget >= burstBytes / 2
    if (isOpen && this.#dropped > 0) {
      this.#write(`\n[${this.#dropped} bytes that reward functions printed are left out]\n`)
      this.#dropped = 0
    }
    const passed = isOpen ? bytes.subarray(0, this.#budget) : bytes.subarray(0, 0)
    if (passed.length > 0) this.#write(passed)
    if (isOpen && passed.length < bytes.length)
      this.#write('\n[reward functions print more than is passed on]\n')
    this.#budget -= passed.length
    this.#dropped += bytes.length - passed.length
    return this.#pace(bytes.length, now)
  }

  #pace(length: number, now: number): number {
    if (now - this.#leftAt >= 1000) {
      this.#left = readPerSecond
      this.#leftAt = now
    }
    this.#left -= length
    return this.#left > 0 ? 0 : Math.ceil(this.#leftAt + 1000 - now)
  }
}

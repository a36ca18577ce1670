import type { Readable } from 'node:stream'

/** Bytes of output that are passed on at once, and for each second after that. */
const burstBytes = 64 * 1024
const bytesPerSecond = 16 * 1024
/** Bytes that are read within a second, passed on or not; a function that prints more waits for its turn. */
const readPerSecond = 8 * 1024 * 1024

/** What authors' code prints, on its way to this process's standard error: a flood is cut, and never costs much to read. */
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

  /** Passes on what fits; gives the milliseconds for which nothing more should be read. */
  pass(bytes: Buffer): number {
    const now = this.#now()
    const earned = Math.floor(((now - this.#budgetAt) / 1000) * bytesPerSecond)
    if (earned > 0) {
      this.#budget = Math.min(burstBytes, this.#budget + earned)
      this.#budgetAt = now
    }
    // Half a burst has to be there again, so that a flood leaves one notice every two seconds and not one each line.
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

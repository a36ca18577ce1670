import type { Pending } from './run-state.ts'

/** Bytes of accepted rollouts that are kept in memory in addition to the disk. */
const mostBytes = 64 * 1024 * 1024

/** What trainers sent a moment ago, so that it is not read from the disk again. */
export class HeldBodies {
  readonly #bodies = new Map<Pending, Buffer>()
  #bytes = 0

  /** Does nothing if there is no room. */
  add(pending: Pending, body: Buffer): void {
    if (this.#bytes + body.length > mostBytes) return
    // A copy: a batch of lines must not stay in memory for one of them.
    this.#bodies.set(pending, Buffer.from(body))
    this.#bytes += body.length
  }

  get(pending: Pending): Buffer | undefined {
    return this.#bodies.get(pending)
  }

  delete(pending: Pending): void {
    const body = this.#bodies.get(pending)
    if (!body) return
    this.#bodies.delete(pending)
    this.#bytes -= body.length
  }
}

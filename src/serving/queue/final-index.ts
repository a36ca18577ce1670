import type { Place } from './commit-log.ts'
import type { FinalState } from './records.ts'

/** A final on disk. */
export interface Final {
  readonly uid: string
  readonly attempt: number
  /** Unix time in milliseconds. */
  readonly at: number
  readonly state: FinalState
  readonly place: Place
}

/** Finals, and their bytes on disk. */
export interface Kept {
  readonly finals: number
  readonly bytes: number
}

const states: readonly FinalState[] = ['scored', 'invalid', 'cancelled', 'damaged']
/** Finals of a chunk. A run has at least one chunk, of 40 bytes for each. */
const chunkSize = 128

/** Finals that follow each other. Numbers are outside of V8's heap: a run may keep millions of finals. */
class Chunk {
  readonly uids = new Array<string>(chunkSize).fill('')
  readonly attempts = new Uint32Array(chunkSize)
  readonly times = new Float64Array(chunkSize)
  /** Index into `states`, from 1; 0: there is no such final. */
  readonly states = new Uint8Array(chunkSize)
  readonly segments = new Uint32Array(chunkSize)
  readonly offsets = new Float64Array(chunkSize)
  readonly lengths = new Uint32Array(chunkSize)
}

/** The finals of a run that are kept, by their numbers. Results stay on disk. */
export class FinalIndex {
  readonly #chunks = new Map<number, Chunk>()
  #size = 0

  get size(): number {
    return this.#size
  }

  /** undefined: there is none of this number, it is no longer kept, or its record is lost. */
  get(seq: number): Final | undefined {
    const chunk = this.#chunks.get(Math.floor(seq / chunkSize))
    const at = seq % chunkSize
    const state = states[(chunk?.states[at] ?? 0) - 1]
    if (!chunk || !state) return undefined
    return {
      uid: chunk.uids[at] as string,
      attempt: chunk.attempts[at] as number,
      at: chunk.times[at] as number,
      state,
      place: {
        segment: chunk.segments[at] as number,
        at: chunk.offsets[at] as number,
        length: chunk.lengths[at] as number,
      },
    }
  }

  /** 0: there is none. */
  attemptOf(seq: number): number {
    return this.#chunks.get(Math.floor(seq / chunkSize))?.attempts[seq % chunkSize] ?? 0
  }

  set(seq: number, { uid, attempt, at: time, state, place }: Final): void {
    const name = Math.floor(seq / chunkSize)
    const chunk = this.#chunks.get(name) ?? new Chunk()
    this.#chunks.set(name, chunk)
    const at = seq % chunkSize
    if (chunk.states[at] === 0) this.#size += 1
    chunk.uids[at] = uid
    chunk.attempts[at] = attempt
    chunk.times[at] = time
    chunk.states[at] = states.indexOf(state) + 1
    chunk.segments[at] = place.segment
    chunk.offsets[at] = place.at
    chunk.lengths[at] = place.length
  }

  /** Numbers rise: a chunk goes with its last number. */
  delete(seq: number): void {
    const name = Math.floor(seq / chunkSize)
    const chunk = this.#chunks.get(name)
    if (!chunk) return
    const at = seq % chunkSize
    if (chunk.states[at] !== 0) this.#size -= 1
    chunk.states[at] = 0
    chunk.uids[at] = ''
    if (at === chunkSize - 1) this.#chunks.delete(name)
  }

  /** The lowest number; null if there is none. */
  get first(): number | null {
    const names = [...this.#chunks.keys()].sort((one, other) => one - other)
    for (const name of names) {
      const at = (this.#chunks.get(name) as Chunk).states.findIndex((state) => state !== 0)
      if (at >= 0) return name * chunkSize + at
    }
    return null
  }
}

import { heapShare } from '../../core/heap-share.ts'

/** A result that is kept in memory. */
interface Kept {
  readonly seq: number
  readonly result: string | null
}

const mostChars = 64 * 1024 * 1024
/** Of the heap. */
const share = 1 / 64

/** The newest finals of all runs, which readers get without reading the disk. */
export class RecentFinals<F extends Kept> {
  readonly #mostChars: number
  /** The oldest first, each with those of its run. */
  readonly #all = new Map<F, Map<number, F>>()
  #chars = 0

  constructor(chars = Math.min(mostChars, heapShare(share))) {
    this.#mostChars = chars
  }

  /** Adds a final to those of its run. The oldest of all runs go when there is no room. */
  add(own: Map<number, F>, final: F): void {
    own.set(final.seq, final)
    this.#all.set(final, own)
    this.#chars += lengthOf(final)
    for (const [oldest, others] of this.#all) {
      if (this.#chars <= this.#mostChars) return
      this.#drop(oldest, others)
    }
  }

  /** Drops those of a run up to this number. */
  dropUntil(own: Map<number, F>, seq: number): void {
    for (const final of own.values()) {
      if (final.seq > seq) return
      this.#drop(final, own)
    }
  }

  #drop(final: F, own: Map<number, F>): void {
    own.delete(final.seq)
    this.#all.delete(final)
    this.#chars -= lengthOf(final)
  }
}

const lengthOf = ({ result }: Kept): number => result?.length ?? 0

export interface Lengths {
  readonly texts: number
  /** In code points. */
  readonly median: number
  /** 95 of 100 texts are at most this long. */
  readonly p95: number
  readonly max: number
  /** An estimate for the longest text, at four bytes a token. */
  readonly maxTokens: number
}

const bytesOfToken = 4

/** Collects text lengths. Keeps one number for each text. */
export class LengthTally {
  readonly #lengths: number[] = []
  #bytes = 0

  add(text: string): void {
    let points = 0
    for (const _ of text) points++
    this.#lengths.push(points)
    this.#bytes = Math.max(this.#bytes, Buffer.byteLength(text))
  }

  /** null if there are no texts. */
  lengths(): Lengths | null {
    const sorted = [...this.#lengths].sort((a, b) => a - b)
    const at = (share: number): number => sorted[Math.ceil(share * sorted.length) - 1] ?? 0
    if (sorted.length === 0) return null
    return {
      texts: sorted.length,
      median: at(0.5),
      p95: at(0.95),
      max: at(1),
      maxTokens: Math.ceil(this.#bytes / bytesOfToken),
    }
  }
}

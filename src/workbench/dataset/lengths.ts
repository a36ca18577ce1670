/** How long texts are. */
export interface Lengths {
  readonly texts: number
  /** Code points. */
  readonly median: number
  /** 95 of 100 texts are no longer. */
  readonly p95: number
  readonly max: number
  /** Of the longest text, at four bytes a token; a tokenizer knows better. */
  readonly maxTokens: number
}

const bytesOfToken = 4

/** Gathers lengths, a number a text. */
export class LengthTally {
  readonly #lengths: number[] = []
  #bytes = 0

  add(text: string): void {
    let points = 0
    for (const _ of text) points++
    this.#lengths.push(points)
    this.#bytes = Math.max(this.#bytes, Buffer.byteLength(text))
  }

  /** null where there was no text. */
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

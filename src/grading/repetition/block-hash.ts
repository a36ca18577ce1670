/** Polynomial hashes of all blocks of a text, modulo a prime below 2^26. Equal blocks have equal hashes. */
export class BlockHash {
  readonly #modulus: number
  readonly #prefix: Uint32Array
  readonly #power: Uint32Array

  constructor(points: Uint32Array, base: number, modulus: number) {
    this.#modulus = modulus
    this.#prefix = new Uint32Array(points.length + 1)
    this.#power = new Uint32Array(points.length + 1).fill(1)
    for (let at = 0; at < points.length; at++) {
      this.#prefix[at + 1] = this.#reduced(this.#prefix[at]! * base + points[at]!)
      this.#power[at + 1] = this.#reduced(this.#power[at]! * base)
    }
  }

  /** Whether two blocks of one length may be equal; false where either leaves the text. */
  mayEqual(a: number, b: number, length: number): boolean {
    if (Math.min(a, b) < 0 || Math.max(a, b) + length >= this.#prefix.length) return false
    return this.#of(a, length) === this.#of(b, length)
  }

  #of(start: number, length: number): number {
    const before = this.#reduced(this.#prefix[start]! * this.#power[length]!)
    const hash = this.#prefix[start + length]! - before
    return hash < 0 ? hash + this.#modulus : hash
  }

  /** Exact for values below 2^53, and quicker than `%` on doubles. */
  #reduced(value: number): number {
    return value - Math.floor(value / this.#modulus) * this.#modulus
  }
}

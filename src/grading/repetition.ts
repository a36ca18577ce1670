import { codePointsOf } from './characters.ts'

/** Polynomial hashes of all blocks of a text, modulo a prime below 2^26. Equal blocks have equal hashes. */
class BlockHash {
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

  /** Whether two blocks of one length may be equal. False if either exceeds the text. */
  mayEqual(a: number, b: number, length: number): boolean {
    if (Math.min(a, b) < 0 || Math.max(a, b) + length >= this.#prefix.length) return false
    return this.#of(a, length) === this.#of(b, length)
  }

  #of(start: number, length: number): number {
    const before = this.#reduced(this.#prefix[start]! * this.#power[length]!)
    const hash = this.#prefix[start + length]! - before
    return hash < 0 ? hash + this.#modulus : hash
  }

  /** Exact for values below 2^53, and faster than `%` on doubles. */
  #reduced(value: number): number {
    return value - Math.floor(value / this.#modulus) * this.#modulus
  }
}

/** The shortest unit in code points, and how often it must repeat. */
const shortestUnit = 20
const repeats = 5

/**
 * Twice the shortest unit: a loop of any period matches itself on this many points, before or after a
 * position inside it.
 */
const window = 2 * shortestUnit
const modulus = 67_108_859

/**
 * Whether a unit of at least 20 code points repeats at least five times in a row. Exact, in n log n. A loop
 * of period p equals itself shifted by p at 4p positions, and one of them is a multiple of 4p.
 *
 * @example
 * ```ts
 * import { hasLoop } from 'reward-gateway/grading'
 *
 * hasLoop('wait, let me check. '.repeat(6)) // true
 * ```
 */
export function hasLoop(text: string): boolean {
  const points = codePointsOf(text)
  // Any base works, since hashes only rule out matches. A random base prevents attacks on the hash.
  const base = 1_001 + 2 * Math.floor(Math.random() * 30_000_000)
  const windows = windowHashes(points, base)
  let blocks: BlockHash | undefined
  const mayEqual = (start: number, period: number, length: number): boolean => {
    blocks ??= new BlockHash(points, base, modulus)
    return blocks.mayEqual(start, start + period, length)
  }
  for (let period = shortestUnit; period * repeats <= points.length; period++) {
    const span = period * (repeats - 1)
    const half = span / 2
    for (let at = 0; at + period < points.length; at += span) {
      const after = at + half - window
      const before = at - half
      const mayLoop =
        (windows[at] === windows[at + period] &&
          windows[after] === windows[after + period] &&
          mayEqual(at, period, half)) ||
        (windows[at - window] === windows[at - window + period] &&
          windows[before] === windows[before + period] &&
          mayEqual(before, period, half))
      if (mayLoop && matches(points, at, period, span) >= span) return true
    }
  }
  return false
}

/** A hash of the window that starts at each point, modulo 2^32. 0 if the window exceeds the text. */
function windowHashes(points: Uint32Array, base: number): Int32Array {
  const hashes = new Int32Array(points.length)
  let oldest = 1
  for (let at = 0; at < window; at++) oldest = Math.imul(oldest, base)
  let hash = 0
  for (let end = 0; end < points.length; end++) {
    hash = (Math.imul(hash, base) + points[end]!) | 0
    if (end >= window) hash = (hash - Math.imul(oldest, points[end - window]!)) | 0
    if (end >= window - 1) hashes[end - window + 1] = hash
  }
  return hashes
}

/**
 * The number of adjacent points around `at` that equal those `period` further on, counting up to `limit` on
 * either side.
 */
function matches(points: Uint32Array, at: number, period: number, limit: number): number {
  const end = Math.min(at + limit, points.length - period)
  let to = at
  while (to < end && points[to] === points[to + period]) to++
  const start = Math.max(0, at - limit)
  let from = at
  while (from > start && points[from - 1] === points[from - 1 + period]) from--
  return to - from
}

const chunk = 1_000_000

/**
 * The verdict of string-repetition 0.1.0. At each start it only tries lengths on an ascending search path. It
 * treats blocks as equal if their numbers in base 256 are. So it misses some loops and reports some false
 * ones.
 */
export function hasSampledLoop(text: string): boolean {
  const points = codePointsOf(text)
  for (let start = 0; start < points.length; start += chunk) {
    if (chunkHasLoop(points.subarray(start, start + chunk))) return true
  }
  return false
}

function chunkHasLoop(points: Uint32Array): boolean {
  const endings = lastFour(points)
  let hashes: readonly BlockHash[] | undefined
  const equal = (a: number, b: number, length: number): boolean => {
    hashes ??= [new BlockHash(points, 256, 67_108_859), new BlockHash(points, 256, 67_108_837)]
    return hashes.every((hash) => hash.mayEqual(a, b, length))
  }
  const repeatsAt = (start: number, length: number): boolean => {
    const last = endings[start + length - 1]
    for (let block = 1; block < repeats; block++) {
      if (endings[start + (block + 1) * length - 1] !== last) return false
    }
    for (let block = 1; block < repeats; block++) {
      if (!equal(start, start + block * length, length)) return false
    }
    return true
  }
  for (let start = 0; start + shortestUnit * repeats <= points.length; start++) {
    const longest = Math.floor((points.length - start) / repeats)
    for (let low = shortestUnit; low <= longest; ) {
      const length = (low + longest) >> 1
      if (repeatsAt(start, length)) return true
      low = length + 1
    }
  }
  return false
}

/** The base-256 number that ends at each point, modulo 2^32. Equal blocks end alike. */
function lastFour(points: Uint32Array): Int32Array {
  const endings = new Int32Array(points.length)
  let value = 0
  for (const [at, point] of points.entries()) {
    value = (Math.imul(value, 256) + point) | 0
    endings[at] = value
  }
  return endings
}

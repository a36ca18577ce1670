import { codePointsOf } from '../code-points.ts'
import { BlockHash } from './block-hash.ts'

/** Shortest unit in code points, and how often it must stand in a row. */
const shortestUnit = 20
const repeats = 5

/** Twice the shortest unit: a loop of any period matches itself on so many points, before or after a place inside it. */
const window = 2 * shortestUnit
const modulus = 67_108_859

/**
 * Whether a unit of at least 20 code points stands at least five times in a row anywhere. Exact; n log n.
 * Such a loop of period p matches itself, shifted by p, on 4p positions: one of them is a multiple of 4p.
 */
export function hasLoop(text: string): boolean {
  const points = codePointsOf(text)
  // Any base serves: hashes only rule out. An unknown one keeps responses from being made against it.
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

/** A hash of the window that starts at each point, modulo 2^32; 0 where it would leave the text. */
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

/** How many points around `at` in a row equal those `period` further on; counts to at most `limit` on either side. */
function matches(points: Uint32Array, at: number, period: number, limit: number): number {
  const end = Math.min(at + limit, points.length - period)
  let to = at
  while (to < end && points[to] === points[to + period]) to++
  const start = Math.max(0, at - limit)
  let from = at
  while (from > start && points[from - 1] === points[from - 1 + period]) from--
  return to - from
}

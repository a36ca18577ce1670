import { BlockHash } from './block-hash.ts'
import { codePointsOf } from './code-points.ts'

/** Shortest unit in code points, and how often it must stand in a row. */
const shortestUnit = 20
const repeats = 5

/** How many points are compared one by one before a hash is asked; at most twice the shortest unit. */
const direct = 8
const modulus = 67_108_859

/**
 * Whether a unit of at least 20 code points stands at least five times in a row anywhere. Exact; n log n.
 * Such a loop of period p matches itself, shifted by p, on 4p positions: one of them is a multiple of 4p.
 */
export function hasLoop(text: string): boolean {
  const points = codePointsOf(text)
  let hash: BlockHash | undefined
  // Any base serves: a hash only rules out. An unknown one keeps responses from being made against it.
  const mayEqual = (start: number, period: number, length: number): boolean => {
    hash ??= new BlockHash(points, 1_000 + Math.floor(Math.random() * 60_000_000), modulus)
    return hash.mayEqual(start, start + period, length)
  }
  for (let period = shortestUnit; period * repeats <= points.length; period++) {
    const span = period * (repeats - 1)
    const half = span / 2
    for (let at = 0; at + period < points.length; at += span) {
      if (points[at] !== points[at + period]) continue
      const mayLoop =
        (after(points, at, period, direct) === direct && mayEqual(at, period, half)) ||
        (before(points, at, period, direct) === direct && mayEqual(at - half, period, half))
      if (mayLoop && after(points, at, period, span) + before(points, at, period, span) >= span) return true
    }
  }
  return false
}

/** How many points from `at` on equal those `period` further on; at most `limit`. */
function after(points: Uint32Array, at: number, period: number, limit: number): number {
  const end = Math.min(at + limit, points.length - period)
  let to = at
  while (to < end && points[to] === points[to + period]) to++
  return to - at
}

/** The same before `at`, backwards. */
function before(points: Uint32Array, at: number, period: number, limit: number): number {
  const end = Math.max(0, at - limit)
  let from = at
  while (from > end && points[from - 1] === points[from - 1 + period]) from--
  return at - from
}

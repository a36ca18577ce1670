import type { Test } from 'tap'
import { cheapestMs } from './cpu.ts'

/**
 * UTF-16 units of a hostile text: long enough that a cost which grows with their square is over any limit below, even where each
 * step compares many at once.
 */
export const hostileLength = 400_000
const filled = (unit: string): string => unit.repeat(Math.ceil(hostileLength / unit.length))

/** Texts of that length that are slow for careless patterns, parsers and normalisers. */
export const hostileTexts: Readonly<Record<string, string>> = {
  letters: filled('a'),
  blanks: `x${filled(' ')}x`,
  'line breaks': filled('\n'),
  digits: filled('7'),
  dots: filled('.'),
  commas: filled('1,'),
  minuses: filled('-'),
  hashes: `so ${filled('#')}`,
  markers: filled('#### **1 '),
  'wrappers after a marker': `so #### ${filled('*')}a`,
  'open parentheses': filled('('),
  'open brackets': filled('['),
  'open braces': filled('{"a":'),
  backslashes: filled('\\'),
  quotes: filled('"'),
  boxes: filled('\\boxed{'),
  'open tags': filled('<think><answer>'),
  'closed tags': filled('</think></answer>'),
  'tag starts': filled('<'),
  'combining marks': `a${filled('\u0315\u0300')}`,
  'half-width marks': `a${filled('\u0315\uff9e')}`,
  ligatures: filled('\ufdfa'),
  'lone surrogates': filled('\ud800'),
  'mathematical digits': filled('\u{1d7ec}\u{1d7f5} '),
  'repeated sentence': filled('Wait, let me recheck once more. '),
}

/** Counting for coverage makes loops several times slower. */
const slower = process.env.NODE_V8_COVERAGE === undefined ? 1 : 2

/** Milliseconds of processor time that one hostile text may take, where a million units may take `limitMs`. */
export const mostMs = (limitMs = 3000): number => (limitMs * slower * hostileLength) / 1_000_000

/** Holds a reader to a cost that is near linear: for every hostile text at most `mostMs(limitMs)`. */
export function nearLinear(t: Test, read: (text: string) => unknown, limitMs?: number): void {
  for (const [name, text] of Object.entries(hostileTexts)) {
    const start = process.cpuUsage()
    read(text)
    const { user, system } = process.cpuUsage(start)
    const ms = Math.round((user + system) / 1000)
    t.ok(ms < mostMs(limitMs), `${name}: ${ms} ms`)
  }
}

/** `nearLinear` for several readers, each in a subtest of its name. */
export function eachNearLinear(
  t: Test,
  readers: Readonly<Record<string, (text: string) => unknown>>,
  limitMs?: number,
): void {
  for (const [name, read] of Object.entries(readers)) t.test(name, async (t) => nearLinear(t, read, limitMs))
}

/**
 * Holds a reader to a cost that grows with the text: eight times as much of a piece takes less than `factor` times as long, or as
 * `leastMs`. `size`: characters of the larger text.
 */
export function growsLinearly(
  t: Test,
  pieces: readonly string[],
  read: (text: string) => unknown,
  { size, factor, leastMs }: { readonly size: number; readonly factor: number; readonly leastMs: number },
): void {
  for (const piece of pieces) {
    const costOf = (length: number, limit: number, tries: number) => {
      const text = piece.repeat(length / piece.length)
      return cheapestMs(limit, tries, () => read(text))
    }
    const small = costOf(size / 8, Number.POSITIVE_INFINITY, 1)
    const limit = factor * Math.max(small, leastMs)
    // A collection of what other tests left behind may fall into one of them.
    const large = costOf(size, limit, 3)
    t.ok(large < limit, `${JSON.stringify(piece)}: ${small} ms, ${large} ms`)
  }
}

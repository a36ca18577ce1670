import type { Test } from 'tap'

/** UTF-16 units of a hostile text. Counting for coverage makes loops several times slower: a run with it reads half as much. */
export const hostileLength = process.env.NODE_V8_COVERAGE === undefined ? 1_000_000 : 500_000
const megabyte = (unit: string): string => unit.repeat(Math.ceil(hostileLength / unit.length))

/** Texts of a million UTF-16 units that are slow for careless patterns, parsers and normalisers. */
export const hostileTexts: Readonly<Record<string, string>> = {
  letters: megabyte('a'),
  blanks: `x${megabyte(' ')}x`,
  'line breaks': megabyte('\n'),
  digits: megabyte('7'),
  dots: megabyte('.'),
  commas: megabyte('1,'),
  minuses: megabyte('-'),
  hashes: `so ${megabyte('#')}`,
  markers: megabyte('#### **1 '),
  'wrappers after a marker': `so #### ${megabyte('*')}a`,
  'open parentheses': megabyte('('),
  'open brackets': megabyte('['),
  'open braces': megabyte('{"a":'),
  backslashes: megabyte('\\'),
  quotes: megabyte('"'),
  boxes: megabyte('\\boxed{'),
  'open tags': megabyte('<think><answer>'),
  'closed tags': megabyte('</think></answer>'),
  'tag starts': megabyte('<'),
  'combining marks': `a${megabyte('\u0315\u0300')}`,
  'half-width marks': `a${megabyte('\u0315\uff9e')}`,
  ligatures: megabyte('\ufdfa'),
  'lone surrogates': megabyte('\ud800'),
  'mathematical digits': megabyte('\u{1d7ec}\u{1d7f5} '),
  'repeated sentence': megabyte('Wait, let me recheck once more. '),
}

/** Holds a reader to a cost that is near linear: for every hostile text at most `limitMs` of processor time. */
export function nearLinear(t: Test, read: (text: string) => unknown, limitMs = 3000): void {
  for (const [name, text] of Object.entries(hostileTexts)) {
    const start = process.cpuUsage()
    read(text)
    const { user, system } = process.cpuUsage(start)
    const ms = Math.round((user + system) / 1000)
    t.ok(ms < limitMs, `${name}: ${ms} ms`)
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

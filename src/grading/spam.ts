/** Periods in UTF-16 units, and how far apart runs are looked for. Every counted run of letters is longer than both together. */
const [longestPeriod, stride] = [48, 40]
/** Equal units at an anchor before a run is measured. */
const probe = 6

/** Rules, leaders and empty cells of tables. */
const rules = new Set('-=_*~#.·•—–─━═│┃|+:/\\ \t\r\n>')

/**
 * The share of a text that repeats what stands at most 48 units before it, in long runs without a break: `hahaha`, rows
 * of signs or emoji. Rules, tables, long numbers and zeros in data are shorter than what counts. Linear.
 */
export function runShare(text: string): number {
  const { length } = text
  let repeated = 0
  let done = 0
  for (let anchor = 0; anchor + probe < length; anchor += stride) {
    if (anchor < done) continue
    const unit = text.charCodeAt(anchor)
    const last = Math.min(longestPeriod, length - probe - anchor)
    let rejected = 0
    for (let period = 1; period <= last; period++) {
      if (text.charCodeAt(anchor + period) !== unit || (rejected > 0 && period % rejected === 0)) continue
      let end = anchor + 1
      while (end + period < length && sameLetter(text, end, period)) end++
      if (end - anchor < probe) continue
      let start = anchor
      while (start > done && sameLetter(text, start - 1, period)) start--
      const run = end + period - start
      if (run >= Math.max(shortestRun(text, start, period, 2 * run >= length), 3 * period)) {
        repeated += end - start
        done = end + period
        break
      }
      rejected ||= period
    }
  }
  return repeated / Math.max(length, 1)
}

/** Whether two units are equal, ignoring the case of ASCII letters. */
function sameLetter(text: string, at: number, period: number): boolean {
  const [a, b] = [text.charCodeAt(at), text.charCodeAt(at + period)]
  return a === b || ((a | 0x20) === (b | 0x20) && (a | 0x20) >= 0x61 && (a | 0x20) <= 0x7a)
}

/** From which length a run counts. `most`: it is half of the text or more. */
function shortestRun(text: string, start: number, period: number, most: boolean): number {
  let digits = 0
  let marks = 0
  for (const sign of text.slice(start, start + period)) {
    if (sign >= '0' && sign <= '9') digits++
    else if (rules.has(sign)) marks++
  }
  if (digits + marks === period) return digits > 0 ? 400 : most && period <= 4 ? 48 : 240
  if (digits > 0) return most ? 48 : 200
  if (most) return 24
  return period === 1 ? 160 : stride + longestPeriod
}

/** Words in a unit of a counter, and how often it must repeat. */
const longestUnit = 16
const [countingRepeats, otherRepeats] = [16, 24]

/**
 * The share of words that repeat earlier ones apart from their numbers, over and over: `wait 17 no, wait 18 no`. Either
 * the numbers count on evenly, or the unit has two words for each number. Linear.
 */
export function counterShare(words: readonly string[]): number {
  const { length } = words
  const skeletons = new Int32Array(length)
  let numbers = 0
  for (let at = 0; at < length; at++) {
    const word = words[at] ?? ''
    const skeleton = skeletonOf(word)
    skeletons[at] = skeleton
    if (skeleton < 0) numbers++
  }
  if (numbers < countingRepeats) return 0
  let most = 0
  for (let period = 1; period <= longestUnit && period * countingRepeats <= length; period++) {
    let start = 0
    let repeated = 0
    for (let at = 0; at + period <= length; at++) {
      if (at + period < length && skeletons[at] === skeletons[at + period]) continue
      const run = at + period - start
      if (run >= period * countingRepeats && isCounter(words.slice(start, at + period), period))
        repeated += run - period
      start = at + 1
    }
    most = Math.max(most, repeated)
  }
  return most / Math.max(length, 1)
}

/** A hash of the word without its ASCII digits, negative if it has any. */
function skeletonOf(word: string): number {
  let hash = 0
  let numbered = false
  for (let at = 0; at < word.length; at++) {
    const unit = word.charCodeAt(at)
    if (unit >= 0x30 && unit <= 0x39) numbered = true
    else hash = (Math.imul(hash, 31) + unit) & 0x3fffffff
  }
  return numbered ? -1 - hash : hash
}

const digits = /[0-9]+/g
const spoken = /\p{L}{2}|\p{Script=Han}/u

function isCounter(words: readonly string[], period: number): boolean {
  const unit = words.slice(0, period)
  const numbers = unit.filter((word) => /[0-9]/.test(word)).length
  const spokenWords = unit.filter((word) => spoken.test(word)).length
  if (numbers === 0 || spokenWords === 0) return false
  if (words.length >= period * otherRepeats && spokenWords >= 2 * numbers) return true
  const values = words.map((word) => Number(word.match(digits)?.[0] ?? 0))
  return values.every((value, at) => {
    const [next, afterNext] = [values[at + period], values[at + 2 * period]]
    return next === undefined || afterNext === undefined || next - value === afterNext - next
  })
}

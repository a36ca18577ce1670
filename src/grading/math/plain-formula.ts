import { readAnswer } from './read-answer.ts'
import { functionNames } from './vocabulary.ts'

/** A formula in plain signs in prose, without dollar signs: `25π`, `(2, ∞)`, `y = 3x - 1`. */
export interface PlainFormula {
  readonly start: number
  readonly end: number
  readonly text: string
}

const longest = 400
const piece =
  /\p{L}+|\d+(?:[.,]\d+)*|[-+−–±∓×·⋅/÷^=<>≤≥≠≈∪∩∈∖|!'′()[\]{},:;_√∛∞∅°%²³¹⁰⁴-⁹⁺⁻ⁿ₀-₉½⅓¼⅔¾⅕-⅞…]|\*(?!\*)/gu
/** Letters that are written side by side in a product. */
const factors = /^(?:[xyz]{2,3}|ab|bc|ac|abc|mn|pq|kn|nk|xe)$/
/** A letter that is also a word, unless it is an operand. */
const article = /^[aAIyeouéà]$/
const operand = /^\s?[-+−=^*/<>≤≥(]|^[²³¹⁰⁴-⁹]/
const operation = /[-+−=^*/<>≤≥(]\s?$|[\d²³¹⁰⁴-⁹)\]]$/
/** Signs that only a formula has. */
const formal =
  /[√∛π∞∅ℝℤ²³¹⁰⁴-⁹ⁿ₀-₉°∪∩∈≤≥≠<>^×·÷±|!]|\d[a-zα-ω]|[a-zα-ω][ ]?[-+−*/=]|[-+−*/=][ ]?[a-zα-ω]|\d ?: ?\d|\d \d+\/\d|≈|[½⅓¼⅔¾⅕-⅞]|[)\]]\s?[-+*/]|\b(?:ln|log|sin|cos|tan|sqrt|exp)\b|[([{][^()[\]{}]+,[^()[\]{}]+[)\]}]/iu
/** Numbers that prose may put together: `2-3 pages`, `3 + 4 = 7`. */
const numerical = /^(?!\d+ \d+\/\d+$)[\d\s.,+\-−–/=%*]*$/
const ratio = /^\d+ ?: ?\d+$/
/** A number with the name that it is given. */
const assignment =
  /^(?:(?:\p{L}[\p{L}\d_']{0,5}(?:\(\w\))?\s*|[\d\s.+\-*/×·÷^()²³!]{1,200})=)*\s*[-−]?\d[\d.,/]*[%!]?$/u

const isOfFormula = (word: string, before: string, after: string): boolean => {
  if (article.test(word)) return operand.test(after) || operation.test(before)
  return (
    /^.$/su.test(word) ||
    functionNames.has(word) ||
    factors.test(word) ||
    /^(?:pi|mod|kπ|nπ|\p{Ll}π)$/u.test(word)
  )
}

/** The last formula in plain signs of a line, read whole. null: there is none. Reads the last 400 units. */
export function lastPlainFormula(line: string): PlainFormula | null {
  const from = Math.max(0, line.length - longest)
  const text = line.slice(from)
  let found: PlainFormula | null = null
  let start = -1
  let end = -1
  const close = (): void => {
    const formula = start < 0 ? null : formulaIn(text, start, end)
    if (formula !== null) found = formula
    start = -1
  }
  for (const { index, 0: written } of text.matchAll(piece)) {
    const after = index + written.length
    if (start >= 0 && text.slice(end, index).trim() !== '') close()
    const isWord = /^\p{L}/u.test(written)
    if (
      isWord &&
      !isOfFormula(written, text.slice(Math.max(0, index - 2), index), text.slice(after, after + 2))
    )
      close()
    else {
      if (start < 0) start = index
      end = after
    }
  }
  close()
  if (found === null) return null
  const { start: at, end: to, text: formula } = found as PlainFormula
  return { start: from + at, end: from + to, text: formula }
}

/** The formula between two places without the signs of prose around it. */
function formulaIn(text: string, start: number, end: number): PlainFormula | null {
  let [from, to] = [start, end]
  for (;;) {
    const inner = text.slice(from, to)
    const lead = /^[\s,;:=)\]}!'|*/%–—…]+/.exec(inner)?.[0].length ?? 0
    const tail = /[\s,;:=([{+\-−–*/^_<>≤≥≠≈…]+$/.exec(inner)?.[0].length ?? 0
    if (lead === 0 && tail === 0) break
    from += lead
    to = Math.max(from, to - tail)
  }
  const written = text.slice(from, to)
  const [depth, opened] = brackets(written)
  // A bracket that the prose opened ends the formula.
  if (depth < 0) return /[)\]}]$/.test(written) ? formulaIn(text, from, to - 1) : null
  if (opened > 0) return null
  if (/[\p{L}\p{N}_\\$]/u.test(text.charAt(from - 1)) || /[\p{L}\p{N}_\\$]/u.test(text.charAt(to)))
    return null
  if (numerical.test(written) || assignment.test(written) || !formal.test(written)) return null
  if (ratio.test(written) && !/^[\s*_)\]}]*(?:[.,;]|$)/.test(text.slice(to))) return null
  return readAnswer(written) === null ? afterComma(text, from, to) : { start: from, end: to, text: written }
}

/** How far the brackets of a text close more than they open at worst (negative), and how many stay open. */
function brackets(text: string): readonly [number, number] {
  let [depth, least] = [0, 0]
  for (const sign of text) {
    if ('([{'.includes(sign)) depth++
    else if (')]}'.includes(sign)) least = Math.min(least, --depth)
  }
  return [least, depth]
}

/** What comes after the last comma, where all of it together is no formula. */
function afterComma(text: string, from: number, to: number): PlainFormula | null {
  const comma = text.slice(from, to).search(/[,;:]\s[^,;:]*$/)
  return comma < 0 ? null : formulaIn(text, from + comma + 1, to)
}

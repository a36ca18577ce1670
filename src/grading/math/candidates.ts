/** A place in prose that holds an expression: a stretch of LaTeX, or a number. */
interface Candidate {
  readonly start: number
  readonly end: number
  readonly text: string
}

const opening =
  /\\\[|\\\(|\$\$?|\\begin\{(?:[pbv]?matrix)\}|-?(?:\d+(?:[.,]\d+)*|\.\d+)(?:\s?\/\s?\d+)?(?:\s?\\?%)?/g
const closing: Readonly<Record<string, string>> = { '\\[': '\\]', '\\(': '\\)', $$: '$$', $: '$' }
const longest = 4000
const most = 500
const between = /^[\s,;*•()\-–]*(?:(?:and|or|and\/or|oder|或)[\s,;*•(\-–]*)?$/i
const denied =
  /(?:\bnot|n't|\bnever|\brule out|\bexcept|\bother than|\\neq?|≠|!=)[\s$(]*(?:be\s*|equal\s*(?:to\s*)?)?[\s$(]*$/i

/** The last expression of a prose text, or the last few where only commas, `and` or `or` part them; null: none, or denied by a `not`. */
export function lastExpression(text: string): string | null {
  const found = candidates(text)
  const last = found.at(-1)
  if (last === undefined) return null
  const group = [last]
  for (let k = found.length - 2; k >= 0; k--) {
    const [candidate, next] = [found[k], group[0]]
    if (!candidate || !next || !between.test(text.slice(candidate.end, next.start).slice(0, 40))) break
    group.unshift(candidate)
  }
  const start = group[0]?.start ?? 0
  if (denied.test(text.slice(Math.max(0, start - 40), start))) return null
  return group.map((candidate) => candidate.text.replace(/[\s,.;]+$/, '')).join(', ')
}

function candidates(text: string): Candidate[] {
  const found: Candidate[] = []
  const closings = new Closings(text)
  opening.lastIndex = 0
  for (let match = opening.exec(text); match; match = opening.exec(text)) {
    const candidate = read(text, match.index, match[0], closings)
    if (candidate === null) continue
    found.push(candidate)
    if (found.length > 2 * most) found.splice(0, most)
    opening.lastIndex = Math.max(candidate.end, match.index + 1)
  }
  return found
}

function read(text: string, start: number, open: string, closings: Closings): Candidate | null {
  const isMatrix = open.startsWith('\\begin')
  const close = isMatrix ? open.replace('begin', 'end') : Object.hasOwn(closing, open) ? closing[open] : null
  if (!close) return number(text, start, open)
  if (text[start - 1] === '\\' && text[start - 2] !== '\\') return null
  const from = start + open.length
  const at = closings.after(close, from)
  if (at - from > longest) return null
  const end = at + close.length
  if (isMatrix) return { start, end, text: text.slice(start, end) }
  const inner = text.slice(from, at)
  return inner.trim() === '' || (open === '$' && isProse(inner)) ? null : { start, end, text: inner }
}

/** Where signs come next, for places that only move forward: each sign is searched for once over the whole text. */
class Closings {
  private readonly known = new Map<string, number>()
  private readonly text: string

  constructor(text: string) {
    this.text = text
  }

  /** Infinity: nowhere. */
  after(sign: string, from: number): number {
    let at = this.known.get(sign) ?? -1
    while (at < from || (sign === '$' && this.text[at - 1] === '\\')) {
      const next = this.text.indexOf(sign, Math.max(from, at + 1))
      at = next < 0 ? Number.POSITIVE_INFINITY : next
    }
    this.known.set(sign, at)
    return at
  }
}

/** Between two prices there is prose, not mathematics. */
const isProse = (inner: string): boolean =>
  /^\d/.test(inner) && /[A-Za-z]{3,}[\s,]+[A-Za-z]{2,}/.test(inner.slice(0, 400).replace(/\\[A-Za-z]+/g, ' '))

function number(text: string, start: number, written: string): Candidate | null {
  const before = text[start - 1] ?? ' '
  const isMinus = written.startsWith('-') && /[\s(=:$]/.test(before)
  const plain = written.startsWith('-') && !isMinus ? written.slice(1) : written
  const at = start + written.length - plain.length
  if (/[\p{L}\d_]/u.test(text[at - 1] ?? ' ')) return null
  return { start: at, end: at + plain.length, text: plain }
}

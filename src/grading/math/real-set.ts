import { constantValue } from './evaluate.ts'
import { type Expression, negated, type Of } from './expression.ts'

const infinite: Expression = { kind: 'constant', name: 'infinity' }

/**
 * The union of intervals that is left where single numbers are taken out of intervals or of all reals:
 * `\mathbb{R}\setminus\{0\}`. null: not of this form.
 */
export function punctured(of: Expression): Expression | null {
  const [from, without] = difference(of)
  const points = without?.kind === 'set' ? sorted(without.items) : null
  const intervals = from && intervalsOf(from)
  if (intervals && without && without.kind !== 'set') return outside(intervals, intervalsOf(without))
  if (!points || points.length === 0 || !intervals) return null
  const parts = intervals.flatMap((interval) => cut(interval, points))
  return parts.length === 1 && parts[0] ? parts[0] : { kind: 'combination', op: 'union', parts }
}

function difference(of: Expression): readonly Expression[] {
  if (of.kind === 'combination' && of.op === 'difference') return of.parts.length === 2 ? of.parts : []
  if (of.kind !== 'sum' || of.terms.length !== 2) return []
  const [from, taken] = of.terms
  const [sign, set] = taken?.kind === 'product' ? taken.factors : []
  const isMinus = sign?.kind === 'number' && sign.value.n === -1n && sign.value.d === 1n
  return from && isMinus && set?.kind === 'set' ? [from, set] : []
}

type Interval = Of<'tuple'>

function intervalsOf(of: Expression): readonly Interval[] | null {
  if (of.kind === 'symbol' && of.name === 'set R')
    return [{ kind: 'tuple', items: [negated(infinite), infinite], open: '(', close: ')' }]
  if (of.kind === 'tuple') return of.items.length === 2 ? [of] : null
  if (of.kind !== 'combination' || of.op !== 'union') return null
  const parts = of.parts.map((part) => (part.kind === 'tuple' && part.items.length === 2 ? part : null))
  return parts.every((part) => part !== null) ? parts : null
}

/** The parts of intervals outside of one other interval: `\\mathbb{R}\\setminus[-2,2]`. */
function outside(intervals: readonly Interval[], taken: readonly Interval[] | null): Expression | null {
  const [low, high] = taken?.length === 1 ? (taken[0]?.items ?? []) : []
  const [hole] = taken ?? []
  if (!low || !high || !hole) return null
  const [from, to] = [boundOf(low), boundOf(high)]
  if (!(from < to)) return null
  const parts = intervals.flatMap((interval): Interval[] => {
    const [start, end] = interval.items
    if (!start || !end || boundOf(start) >= from || boundOf(end) <= to) return [interval]
    return [
      { ...interval, items: [start, low], close: hole.open === '[' ? ')' : ']' },
      { ...interval, items: [high, end], open: hole.close === ']' ? '(' : '[' },
    ]
  })
  if (parts.length !== intervals.length + 1) return null
  // An end at infinity leaves nothing there.
  const kept = parts.filter(({ items: [a, b] }) => a && b && boundOf(a) < boundOf(b))
  return kept.length === 1 && kept[0] ? kept[0] : { kind: 'combination', op: 'union', parts: kept }
}

interface Point {
  readonly at: number
  readonly of: Expression
}

/** null: a point is no real number. */
function sorted(points: readonly Expression[]): readonly Point[] | null {
  const values = points.map((of) => ({ of, at: boundOf(of) }))
  return values.some(({ at }) => Number.isNaN(at)) ? null : values.sort((a, b) => a.at - b.at)
}

function boundOf(of: Expression): number {
  if (of.kind === 'constant' && of.name === 'infinity') return Number.POSITIVE_INFINITY
  if (of.kind === 'product' && of.factors.length === 2 && of.factors[1]?.kind === 'constant') {
    const [sign, last] = of.factors
    if (last.name === 'infinity' && sign?.kind === 'number')
      return sign.value.n < 0n ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY
  }
  const value = constantValue(of)
  return value === null || value.im !== 0 ? Number.NaN : value.re
}

/** The parts of an interval between the points inside it. */
function cut(interval: Interval, points: readonly Point[]): Interval[] {
  const [low, high] = interval.items
  if (!low || !high) return [interval]
  const [from, to] = [boundOf(low), boundOf(high)]
  const parts: Interval[] = []
  let rest = interval
  for (const { at, of } of points) {
    if (at === from) rest = { ...rest, open: '(' }
    else if (at === to) rest = { ...rest, close: ')' }
    else if (at > from && at < to) {
      parts.push({ ...rest, items: [rest.items[0] ?? low, of], close: ')' })
      rest = { ...interval, items: [of, high], open: '(' }
    }
  }
  return [...parts, rest]
}

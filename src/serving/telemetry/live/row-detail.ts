import type { DrawnEvent } from '../../../scoring/engine/events.ts'
import { recordRow } from '../record/row.ts'
import type { RecordedRow, RecordedTerm } from '../record/shape.ts'
import { type TextPolicy, textKeeper } from '../record/text-policy.ts'
import type { RecentRow } from './recent-rows.ts'
import { type ShownAsk, shownAsk } from './shown-ask.ts'

/** One row whole: its record, by the same policy, with the questions that its judges were sent. */
export type RowDetail = Omit<RecordedRow, 'terms'> & {
  readonly terms: readonly (Omit<RecordedTerm, 'asks'> & { readonly asks: readonly ShownAsk[] })[]
}

/** Characters of one text, and entries of one list, that are shown. */
const longestText = 20_000
const longestList = 256
const longestKey = 200

/** Everything there is to say of a row; long texts are cut and say so. `draws`: of its questions. */
export function detailOf(
  { id, at, event }: RecentRow,
  draws: readonly DrawnEvent[],
  policy: TextPolicy,
): RowDetail {
  const keep = textKeeper(policy)
  const time = new Date(at).toISOString()
  const parts = { keep, drawsOf: () => [], samplingOf: () => ({}) }
  const recorded = recordRow(event, 0, { id, time }, parts)
  const terms = recorded.terms.map((term) => {
    const own = draws.filter(({ step }) => step === term.name)
    return { ...term, asks: own.map((draw) => shownAsk(draw, keep)) }
  })
  return cut({ ...recorded, terms }) as RowDetail
}

/** The same with long texts and lists shortened. */
function cut(value: unknown): unknown {
  if (typeof value === 'string') {
    const more = value.length - longestText
    return more > 0 ? `${value.slice(0, longestText)}\n[${more} more characters]` : value
  }
  if (Array.isArray(value)) return value.slice(0, longestList).map(cut)
  if (value === null || typeof value !== 'object') return value
  const entries = Object.entries(value).slice(0, longestList)
  return Object.fromEntries(entries.map(([key, inner]) => [key.slice(0, longestKey), cut(inner)]))
}

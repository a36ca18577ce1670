import type { DrawnEvent } from '../../../scoring/engine/events.ts'
import { recordAsk } from '../record/row.ts'
import type { RecordedAsk } from '../record/shape.ts'
import type { RecordedText, TextKeeper } from '../record/text-policy.ts'

/** A draw as its record has it, with the question that was sent. */
export type ShownAsk = RecordedAsk & { readonly question: RecordedText }

/** What a judge was asked and what it answered, by the policy of `keep`. */
export function shownAsk(drawn: DrawnEvent, keep: TextKeeper): ShownAsk {
  const { question } = drawn
  const text = typeof question === 'string' ? question : JSON.stringify(question)
  return { ...recordAsk(drawn, { keep, samplingOf: () => ({}) }), question: keep.text(text) }
}

import { type NonJsonLiteral, tooLongInteger } from '../core/json/text.ts'
import type { Sample, Unreadable } from '../core/sample/sample.ts'
import { lacksTruth, plainTruth, type ReadTruth } from './ground-truth.ts'
import type { GroundTruthIndex } from './ground-truth-index.ts'
import { badSample, type Truth } from './native-sample.ts'

/** A trainer's row before its label is understood. */
export interface WireRow {
  readonly id: string
  readonly prompt: Sample['prompt']
  readonly response: string
  readonly label: ReadTruth
  /** Those of this row. */
  readonly oddities: readonly NonJsonLiteral[]
  /** Asked where the row brought no truth along. */
  readonly truths?: GroundTruthIndex | null
}

/** The sample of one row of a wire; an Unreadable where its truth has a mistake, is rounded or is not found. */
export function wireSample({ id, prompt, response, label, oddities, truths }: WireRow): Sample | Unreadable {
  const tooLong = tooLongInteger(oddities)
  if (tooLong !== null) return badSample(id, tooLong)
  if (label && 'problem' in label) return badSample(id, label.problem)
  let truth = label?.truth ?? plainTruth(null)
  if (truths && lacksTruth(label)) {
    const found = truths.find(prompt)
    if (!found) return badSample(id, `the prompt is not among the truths of ${truths.file}`)
    truth = label ? completed(label.truth, found) : found
  }
  const sample = { id, prompt, response, ...truth }
  return oddities.length > 0 ? { ...sample, flags: ['non_finite_input'] } : sample
}

/** The truth that was found, under what the row itself said. */
function completed({ groundTruth: _, lacksExtraInfo, ...said }: Truth, found: Truth): Truth {
  const { lacksExtraInfo: _none, ...known } = found
  return {
    ...known,
    ...said,
    rmPrompts: { ...found.rmPrompts, ...said.rmPrompts },
    extraInfo: { ...found.extraInfo, ...said.extraInfo },
    ...(lacksExtraInfo && found.lacksExtraInfo && { lacksExtraInfo }),
  }
}

import { type NonJsonLiteral, tooLongInteger } from '../core/json/text.ts'
import type { Message, RolloutStatus, Sample, Unreadable } from '../core/sample/sample.ts'
import { rolloutOf } from './chat/rollout.ts'
import { hasGroundTruth, plainGroundTruth, type ReadGroundTruth } from './ground-truth.ts'
import type { GroundTruthIndex } from './ground-truth-index.ts'
import { badSample, type GroundTruth, withFlag } from './native.ts'

/** What a format read of one row. */
interface TrainerRow {
  readonly id: string
  readonly prompt: Sample['prompt']
  /** A text, or all messages that the rollout added. */
  readonly response: string | readonly Message[]
  readonly segments?: readonly number[]
  readonly status?: RolloutStatus | undefined
  readonly label: ReadGroundTruth
  /** The row's own. */
  readonly literals: readonly NonJsonLiteral[]
  /** Searched if the row sent no ground truth. */
  readonly groundTruths?: GroundTruthIndex | null
}

/**
 * Makes a sample of a trainer's row. The row is Unreadable if a number in it would be rounded, or if its ground truth is
 * malformed or not found.
 */
export function rowSample(row: TrainerRow): Sample | Unreadable {
  const { id, prompt, response, segments, status, label, literals, groundTruths } = row
  const tooLong = tooLongInteger(literals)
  if (tooLong !== null) return badSample(id, tooLong)
  if (label && 'problem' in label) return badSample(id, label.problem)
  let truth = label?.truth ?? plainGroundTruth(null)
  if (groundTruths && !hasGroundTruth(label)) {
    const found = groundTruths.find(prompt)
    if (!found) return badSample(id, `the prompt is not in the ground truth file ${groundTruths.file}`)
    truth = label ? completed(label.truth, found) : found
  }
  const rollout = typeof response === 'string' ? { response } : rolloutOf(response)
  const sample = {
    id,
    prompt,
    ...rollout,
    ...truth,
    ...(segments && { segments }),
    ...(status && { status }),
  }
  return literals.length > 0 ? withFlag(sample, 'non_finite_input') : sample
}

/** Adds what was found to what the row itself said. The row takes precedence. */
function completed({ groundTruth: _, hasExtraInfo, ...said }: GroundTruth, found: GroundTruth): GroundTruth {
  const { hasExtraInfo: foundExtraInfo, ...known } = found
  return {
    ...known,
    ...said,
    rmPrompts: { ...found.rmPrompts, ...said.rmPrompts },
    extraInfo: { ...found.extraInfo, ...said.extraInfo },
    ...(hasExtraInfo === false && foundExtraInfo === false && { hasExtraInfo }),
  }
}

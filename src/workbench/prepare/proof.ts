/** Every row is scored before it is written, by the engine that will score it in training. */

import type { Json, Outcome, Sample, Unreadable } from '../../core/sample/sample.ts'
import type { Gateway } from '../../scoring/gateway/gateway.ts'
import { ignorance } from '../dataset/known-answers.ts'
import { samplesOf } from '../dataset/sample-rows.ts'
import type { Reading } from './family.ts'

/** A row on its way to a file. */
export interface Candidate {
  readonly reading: Reading
  readonly row: Readonly<Record<string, Json>>
}

const rounding = 1e-9

/** One a candidate: why it may not be written; null: its truth is accepted and its gold answer earns full marks. */
export async function faultsOf(
  gateway: Gateway,
  reward: string,
  candidates: readonly Candidate[],
  signal: AbortSignal,
): Promise<readonly (string | null)[]> {
  const rows = candidates.flatMap(({ reading, row }, at) => [
    answering(row, reading.gold ?? ignorance, `${at}/gold`),
    answering(row, reading.nearMiss ?? ignorance, `${at}/near`),
  ])
  const { outcomes } = await gateway.score({ reward, rows, signal })
  signal.throwIfAborted()
  return candidates.map(({ reading }, at) =>
    faultOf(gateway, reward, reading, outcomes[2 * at] as Outcome, outcomes[2 * at + 1] as Outcome),
  )
}

function answering(row: Candidate['row'], response: string, id: string): Sample | Unreadable {
  const [sample] = samplesOf({ value: { ...row, id, group_id: id, response }, oddities: [] }, 0, [])
  return sample as Sample | Unreadable
}

function faultOf(
  gateway: Gateway,
  reward: string,
  { gold, nearMiss, fullMarks }: Reading,
  right: Outcome,
  near: Outcome,
): string | null {
  if (!right.valid) return `the reward refuses the row: ${right.failure.detail}`
  const bad = right.flags.find((flag) => flag.includes('bad_'))
  if (bad !== undefined) return `the row cannot be graded: ${reasonOf(right) ?? bad}`
  if (gold === null) return null
  const wanted = fullMarks ?? upperEnd(gateway, reward, right)
  if (right.reward < wanted - rounding) {
    const reason = reasonOf(right)
    return `the right answer earns ${right.reward} of ${wanted}${reason ? ` (${reason})` : ''}`
  }
  const isPaid = nearMiss !== null && near.valid && near.reward >= right.reward - rounding
  return isPaid ? 'a wrong answer earns as much as the right one' : null
}

/** Of the one rule that scored the answer. */
function upperEnd(gateway: Gateway, reward: string, { terms }: Outcome): number {
  const scored = terms.find(({ status }) => status === 'scored')
  const step = gateway.reward(reward).steps.find(({ name }) => name === scored?.name)
  return step ? step.function.range[1] * step.weight(undefined) : 0
}

function reasonOf({ terms }: Outcome): string | null {
  for (const term of terms) {
    const reason = term.status === 'scored' ? term.score.details?.reason : undefined
    if (typeof reason === 'string') return reason
  }
  return null
}

import { GatewayError } from '../core/errors.ts'
import type { Outcome } from '../core/sample/sample.ts'
import type { WireAnswer, WireRoute } from './wire.ts'
import type { WireSettings } from './wire-settings.ts'

const mostProblems = 10

/**
 * The number of each outcome in a reply. `onInvalid` is the wire's own setting and goes before the reward's; where
 * neither names a number and the reply has no word for 'invalid', throws RG_SAMPLES_FAILED.
 */
export function applyInvalidPolicy(
  wire: string,
  invalid: WireRoute['invalid'],
  outcomes: readonly Outcome[],
  onInvalid: WireSettings['on_invalid'],
): readonly WireAnswer[] {
  const answers = outcomes.map((outcome) => ({ outcome, reward: numberOf(outcome, onInvalid) }))
  if (invalid === 'told') return answers.map(({ outcome, reward }) => ({ outcome, reward: reward ?? 0 }))
  const failed = answers.filter(({ reward }) => reward === null)
  if (failed.length === 0) return answers.map(({ outcome, reward }) => ({ outcome, reward: reward ?? 0 }))
  const problems = failed.slice(0, mostProblems).flatMap(({ outcome: { id, ...outcome } }) => {
    const { kind, detail } = outcome.valid ? { kind: '', detail: '' } : outcome.failure
    return { path: `samples.${id}`, message: `${kind}: ${detail}` }
  })
  throw new GatewayError(
    'RG_SAMPLES_FAILED',
    `${failed.length} of ${outcomes.length} samples have no reward, and this format has no word for that; on_invalid of the reward or of wires.${wire} may name a number`,
    { problems },
  )
}

/** A mean of siblings was asked of the gateway with the rows, and is the outcome's substitute. */
function numberOf(outcome: Outcome, onInvalid: WireSettings['on_invalid']): number | null {
  if (outcome.valid) return outcome.reward
  if (onInvalid === 'fail') return null
  return typeof onInvalid === 'number' ? onInvalid : outcome.substitute
}

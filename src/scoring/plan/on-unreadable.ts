/** What becomes of a judge's text without a verdict. */

import type { FunctionDescription } from '../functions/function-host.ts'
import type { ConfigPath } from './config-text.ts'
import type { RewardReport } from './configs.ts'
import type { OnUnreadable } from './plan.ts'
import type { RewardConfig, StepConfig } from './reward-config.ts'

/** A step's setting, or its reward's where that fits its function. Reports one that does not fit. */
export function onUnreadableOf(
  step: Pick<Partial<StepConfig>, 'on_unreadable'>,
  reward: Partial<Pick<RewardConfig, 'on_unreadable'>>,
  description: FunctionDescription,
  at: ConfigPath,
  report: RewardReport,
): OnUnreadable {
  const said = step.on_unreadable ?? reward.on_unreadable ?? 'fail'
  const why = refusesNumber(description)
  if (why !== null && typeof step.on_unreadable === 'number') report.add([...at, 'on_unreadable'], why)
  if (description.kind === 'pair' && typeof said === 'number' && !(said >= 0 && said <= 1)) {
    report.add([...at, 'on_unreadable'], `${said} is not a probability; a comparison needs one from 0 to 1`)
  }
  return typeof said === 'number' && why !== null ? 'fail' : said
}

/** Why nothing but a reply gives this function's scores a number; null: a config may name one. */
function refusesNumber({ name, kind, ask }: FunctionDescription): string | null {
  if (ask === 'service') return 'a reply of a service that holds no score is never a number'
  if (ask === 'decide') return 'a decision without readable probabilities is never a number'
  if (kind !== 'questions' && kind !== 'group-questions') return null
  return `'${name}' asks several questions, and a reply to one that holds no verdict is never a number`
}

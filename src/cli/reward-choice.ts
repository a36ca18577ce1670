import { GatewayError } from '../core/errors.ts'
import type { Gateway } from '../scoring/gateway/gateway.ts'

/** The reward that was named, or the only one there is; throws RG_REWARD_UNKNOWN or RG_COMMAND_INVALID. */
export function rewardOf(gateway: Gateway, named: string | undefined): string {
  if (named) return gateway.reward(named).name
  const names = gateway.rewards().map(({ name }) => name)
  if (names.length === 1 && names[0]) return names[0]
  throw new GatewayError(
    'RG_COMMAND_INVALID',
    `the config holds ${names.length} rewards (${names.join(', ')}): choose one with --reward`,
  )
}

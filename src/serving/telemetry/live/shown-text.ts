import type { GatewaySettings } from '../../../scoring/plan/gateway-config.ts'
import type { TextPolicy } from '../record/text-policy.ts'

const strictness: readonly TextPolicy[] = ['full', 'hash', 'none']

/**
 * What the inspector may show of texts: never more than the record keeps. Without a word in the configs hashes alone,
 * or everything where the judges are simulated; nothing before there are settings.
 */
export function shownText(settings: GatewaySettings | undefined, simulates = false): TextPolicy {
  if (!settings) return 'none'
  const { record, inspector } = settings
  const kept = record?.text ?? 'full'
  const asked = inspector.text ?? record?.text ?? (simulates ? 'full' : 'hash')
  return strictness[Math.max(strictness.indexOf(kept), strictness.indexOf(asked))] ?? 'none'
}

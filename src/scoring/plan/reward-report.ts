import type { Problem } from '../../core/errors.ts'
import type { ConfigPath, ParsedConfig } from './config-text.ts'
import type { WrittenReward } from './configs.ts'

/** Collects the mistakes of one reward. */
export interface RewardReport {
  readonly problems: readonly Problem[]
  add(path: ConfigPath, message: string, key?: 'key'): void
  /** Both: see ParsedConfig. */
  readonly fixable: ParsedConfig['fixable']
  otherReading: ParsedConfig['otherReading']
}

/** Gathers the mistakes of one rm-config, each at its place in the text. */
export function reportOn({ config }: WrittenReward): RewardReport {
  const problems: Problem[] = []
  const { fixable, otherReading } = config
  return {
    problems,
    fixable,
    otherReading,
    add: (path, message, key) => problems.push(config.problemAt(path, message, key)),
  }
}

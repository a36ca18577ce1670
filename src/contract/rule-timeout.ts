/** Thrown by a rule whose step budget is spent: the sample fails as `rule_timeout`, it is never scored. */
export class RuleTimeout extends Error {
  override readonly name = 'RuleTimeout' as const
}

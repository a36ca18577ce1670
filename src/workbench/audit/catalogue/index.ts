/** The catalogue: what is known to earn without being good, as data and small generators. */
import type { Attack } from '../attack.ts'
import { costAttacks } from './cost.ts'
import { expressionAttacks } from './expressions.ts'
import { jsonAttacks } from './json.ts'
import { judgeAttacks } from './judge.ts'
import { listAttacks } from './lists.ts'
import { ruleAttacks } from './rule.ts'
import { vacuousAttacks } from './vacuous.ts'

/** Every attack, in the order of the report. */
export const attacks: readonly Attack[] = [
  ...vacuousAttacks,
  ...ruleAttacks,
  ...listAttacks,
  ...jsonAttacks,
  ...expressionAttacks,
  ...judgeAttacks,
  ...costAttacks,
]

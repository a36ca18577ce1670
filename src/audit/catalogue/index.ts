import type { Attack } from '../attack.ts'
import { judgeAttacks } from './judge.ts'
import { ruleAttacks } from './rule.ts'
import { vacuousAttacks } from './vacuous.ts'

/** Every attack, in the order of the report. */
export const attacks: readonly Attack[] = [...vacuousAttacks, ...ruleAttacks, ...judgeAttacks]

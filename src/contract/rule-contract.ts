import type { Json } from '../core/sample/json.ts'
import type { Score } from '../core/sample/score.ts'
import type { Rule } from './define.ts'
import { asScore, endsContract, scoreContract } from './score-contract.ts'
import { type RowParts, row } from './test-row.ts'
import { same, type TestRunner } from './test-runner.ts'

/** Rows that a rule's author names, so that the rest can be checked. */
export interface RuleCases {
  /** Options of the cases below; a case may have its own. */
  readonly options?: Json
  /** How near `full` and `zero` come to the ends of the range, where a rule only approaches them; 0 if absent. */
  readonly within?: number
  /** Reaches the high end of the range. */
  readonly full: RowParts
  /** Reaches the low end of the range. */
  readonly zero: RowParts
  /** Holds no answer: neither throws nor reaches the high end. */
  readonly malformed: RowParts
  /** Responses that would earn without being good, by what they try; each must score less than `full`. At least one. */
  readonly hacks: Readonly<Record<string, RowParts>>
}

/** What the rule says of such a row, a number as a score without parts; null: it does not apply. */
export const scored = <T, O>(rule: Rule<T, O>, parts: RowParts): Score | null =>
  asScore(rule.score(row(rule, parts)))

/** Holds a rule to its contract: range reached and kept, declared parts, the same twice, and hacks that do not pay. */
export function ruleContract<T, O>(t: TestRunner, rule: Rule<T, O>, cases: RuleCases): void {
  const check = (title: string, parts: RowParts): number => {
    const built = { ...(cases.options === undefined ? {} : { options: cases.options }), ...parts }
    const options = rule.options.parse(built.options ?? {})
    const score = scored(rule, built)
    t.ok(score !== null, `${title}: applies`)
    same(t, scored(rule, built), score, `${title}: the same twice`)
    return scoreContract(t, title, score, { range: rule.range(options), parts: rule.parts(options) })
  }
  const full = check('full', cases.full)
  const zero = check('zero', cases.zero)
  endsContract(t, rule.range(rule.options.parse(cases.options ?? {})), { ...cases, full, zero })
  t.ok(check('malformed', cases.malformed) < full, 'malformed: earns less than full')
  const hacks = Object.entries(cases.hacks)
  t.ok(hacks.length > 0, 'at least one hack is named')
  for (const [name, hack] of hacks) t.ok(check(name, hack) < full, `${name}: earns less than full`)
}

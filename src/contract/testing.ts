/** The contract test of a rule, and rows to call any function with. Knows no test runner. */
import type { Json } from '../sample/json.ts'
import type { Sample } from '../sample/sample.ts'
import type { Score } from '../sample/score.ts'
import type { Rule } from './define.ts'
import type { Earlier, Row } from './row.ts'

/** What the contract test needs of a test runner; tap's `t` has it. */
export interface TestRunner {
  ok(holds: unknown, title: string): unknown
  strictSame(found: unknown, wanted: unknown, title: string): unknown
}

/** What a test says of a row; the rest is empty. */
export interface RowParts extends Partial<Omit<Sample, 'prompt'>> {
  readonly prompt?: Sample['prompt']
  readonly options?: Json
  readonly earlier?: Readonly<Record<string, Earlier>>
}

/** Rows that say what a rule is worth; `hacks` must earn less than `full`. */
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
  /** Responses that would earn without being good; each must score less than `full`. */
  readonly hacks: Readonly<Record<string, RowParts>>
}

/** A frozen row as a worker would build it; throws where the function refuses the ground truth or the options. */
export function row<T, O>(
  fn: {
    options: { parse(value: unknown): O }
    truth(options: O): { parse(value: unknown): T }
  },
  { options: given = {}, earlier = {}, ...sample }: RowParts = {},
): Row<T, O> {
  const options = fn.options.parse(given)
  const filled: Sample = {
    id: 'test',
    prompt: '',
    response: '',
    groundTruth: null,
    rmPrompts: {},
    extraInfo: {},
    ...sample,
  }
  return freeze({ sample: filled, truth: fn.truth(options).parse(filled.groundTruth), options, earlier })
}

/** The verdict as a score, a number having no parts; null stays. */
export function scored<T, O>(rule: Rule<T, O>, parts: RowParts): Score | null {
  const verdict = rule.score(row(rule, parts))
  return typeof verdict === 'number' ? { value: verdict } : verdict
}

/** Holds a rule to its contract: range reached and kept, declared parts, the same twice, and hacks that do not pay. */
export function ruleContract<T, O>(t: TestRunner, rule: Rule<T, O>, cases: RuleCases): void {
  const check = (title: string, parts: RowParts): number => {
    const built = { ...(cases.options === undefined ? {} : { options: cases.options }), ...parts }
    const options = rule.options.parse(built.options ?? {})
    const score = scored(rule, built)
    t.ok(score !== null, `${title}: applies`)
    t.strictSame(scored(rule, built), score, `${title}: the same twice`)
    const value = score?.value ?? Number.NaN
    const [low, high] = rule.range(options)
    t.ok(value >= low && value <= high, `${title}: ${value} lies in the range`)
    const undeclared = Object.keys(score?.parts ?? {}).filter((name) => !rule.parts(options).includes(name))
    t.strictSame(undeclared, [], `${title}: reports declared parts only`)
    t.ok(Object.values(score?.parts ?? {}).every(Number.isFinite), `${title}: its parts are finite`)
    return value
  }
  const [low, high] = rule.range(rule.options.parse(cases.options ?? {}))
  const { within = 0 } = cases
  const full = check('full', cases.full)
  if (Number.isFinite(high)) t.ok(high - full <= within, `full: ${full} is the high end of the range`)
  const zero = check('zero', cases.zero)
  if (Number.isFinite(low)) t.ok(zero - low <= within, `zero: ${zero} is the low end of the range`)
  t.ok(check('malformed', cases.malformed) < full, 'malformed: earns less than full')
  const hacks = Object.entries(cases.hacks)
  t.ok(hacks.length > 0, 'at least one hack is named')
  for (const [name, hack] of hacks) t.ok(check(name, hack) < full, `${name}: earns less than full`)
}

function freeze<V>(value: V): V {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value)
    Object.values(value).forEach(freeze)
  }
  return value
}

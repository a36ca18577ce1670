import { didYouMean } from '../../core/nearest-name.ts'
import { fullGuard } from '../models/api/guard-config.ts'
import type { ModelConfig } from '../models/api/model-config.ts'
import { compileCondition } from './compile-expression.ts'
import type { ConfigPath } from './config-text.ts'
import type { Expression, KnownStep } from './expression.ts'
import type { PlanStep } from './plan.ts'
import type { RewardConfig, StepConfig } from './reward-config.ts'
import type { RewardReport } from './reward-report.ts'
import { sourcePattern } from './source-pattern.ts'
import type { StepFunction } from './step-function.ts'
import { budgetsOf, checkSettings, findModels, repliesOf } from './step-model.ts'
import { stepIdentity } from './version.ts'
import { weightOf } from './weight.ts'

/** What a step is resolved against. */
export interface StepSurroundings {
  readonly reward: Partial<Pick<RewardConfig, 'on_unreadable' | 'gate'>>
  readonly models: ReadonlyMap<string, ModelConfig | null>
  /** What `when` may name: the steps above. */
  readonly above: ReadonlyMap<string, KnownStep>
  /** All names of the reward's steps. */
  readonly names: readonly string[]
  readonly gate: Expression<boolean> | null
  readonly report: RewardReport
}

/** A step as the engine runs it; null where it has mistakes. Tells of every mistake. */
export function resolveStep(
  step: Partial<StepConfig>,
  at: ConfigPath,
  found: StepFunction | null,
  around: StepSurroundings,
): PlanStep | null {
  const { report, reward, gate } = around
  const models = findModels(step, found?.description ?? null, at, around.models, report)
  if (found) checkSettings(step, found, at, report)
  const after = [step.after ?? []].flat()
  checkAfter(after, at, around)
  checkWeight(step.weight, at, report)
  const when = step.when === undefined ? null : condition(step.when, [...at, 'when'], around)
  if (step.gated && reward.gate === undefined) report.add([...at, 'gated'], 'the reward has no gate', 'key')
  if (!found?.bound || step.name === undefined) return null
  const { description, bound } = found
  const { kind, ask, critique } = description
  const gated = isGated(step, found)
  const { n = 1, aggregate = 'mean', min, early_stop: earlyStop = false } = step.votes ?? {}
  const draws = n * models.length
  if (min !== undefined && min > draws) {
    report.add([...at, 'votes', 'min'], `${min} valid draws cannot come of ${draws}`)
  }
  const onUnreadable = step.on_unreadable ?? reward.on_unreadable ?? 'fail'
  if (kind === 'pair' && typeof onUnreadable === 'number' && !(onUnreadable >= 0 && onUnreadable <= 1)) {
    report.add([...at, 'on_unreadable'], `${onUnreadable} is no probability that an answer is better`)
  }
  const needs = [...after, ...(when?.steps ?? []), ...(gated ? (gate?.steps ?? []) : [])]
  return {
    name: step.name,
    function: bound,
    kind,
    ask,
    critique,
    models,
    guards: new Map(models.map((model) => [model, around.models.get(model)?.guard ?? fullGuard])),
    ...(step.sampling && { sampling: given(step.sampling) }),
    op: step.op ?? 'add',
    weight: weightOf(step.weight ?? 1),
    when,
    dataSource: step.data_source === undefined ? null : sourcePattern([step.data_source].flat()),
    gated,
    onUnreadable,
    votes: { n, aggregate, min: min ?? Math.floor(draws / 2) + 1, earlyStop },
    labels: step.verdict === 'expected' ? repliesOf(bound) : null,
    pairs: { scheme: 'all', neighbours: 1, swap: true, aggregate: 'bradley_terry', ...step.pairs },
    budgets: budgetsOf(models, around.models),
    after,
    needs: [...new Set(needs)],
    timeoutMs: step.timeout_s === undefined ? Number.POSITIVE_INFINITY : step.timeout_s * 1000,
    identity: stepIdentity(description, bound.options),
  }
}

/** Model steps are gated unless they say otherwise, rules where they say so. */
export const isGated = ({ gated }: Partial<StepConfig>, found: StepFunction | null): boolean =>
  gated ?? (found ? found.description.ask !== null : false)

function checkAfter(
  after: readonly string[],
  at: ConfigPath,
  { above, names, report }: StepSurroundings,
): void {
  for (const name of after) {
    if (above.has(name)) continue
    const why = names.includes(name)
      ? 'stands below; move this step under it'
      : `does not exist${didYouMean(name, above.keys())}`
    report.add([...at, 'after'], `the step '${name}' ${why}`)
  }
}

function checkWeight(weight: StepConfig['weight'] | undefined, at: ConfigPath, report: RewardReport): void {
  if (typeof weight !== 'object') return
  for (const [index, [step]] of weight.points.entries()) {
    const before = weight.points[index - 1]
    if (before && before[0] >= step)
      report.add([...at, 'weight', 'points', index], 'the training steps must ascend')
  }
}

function condition(
  source: string,
  at: ConfigPath,
  { above, names, report }: StepSurroundings,
): Expression<boolean> | null {
  const below = names
    .filter((name) => !above.has(name))
    .map((name) => [name, { refused: 'does not stand above this step' }] as const)
  const compiled = compileCondition(source, new Map<string, KnownStep>([...above, ...below]))
  if ('expression' in compiled) return compiled.expression
  for (const mistake of compiled.mistakes) report.add(at, mistake)
  return null
}

/** Without the settings that are undefined. */
function given<T extends object>(settings: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]: Exclude<T[K], undefined>
  }
}

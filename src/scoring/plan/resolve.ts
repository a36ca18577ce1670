import { GatewayError, type Problem } from '../../core/errors.ts'
import type { Json } from '../../core/sample/sample.ts'
import type { FunctionHost } from '../functions/function-host.ts'
import type { ModelConfig } from '../models/interface/model-config.ts'
import { type Configs, type ParsedReward, type RewardReport, reportOn } from './configs.ts'
import {
  type Compiled,
  compileCondition,
  compileFormula,
  type Expression,
  type KnownStep,
  reservedNames,
} from './expression.ts'
import type { GatewaySettings } from './gateway-config.ts'
import { askedModels, type Plan, type PlanStep } from './plan.ts'
import { isGated, resolveStep } from './resolve-step.ts'
import { onInvalidOf, onStatusOf, type StepConfig } from './reward-config.ts'
import { findFunction, type StepFunction } from './step-function.ts'
import { planVersion } from './version.ts'

/** All configs, ready to run. */
export interface Resolved {
  readonly gateway: GatewaySettings
  readonly models: ReadonlyMap<string, ModelConfig>
  /** Name that trainers request -> plan. */
  readonly plans: ReadonlyMap<string, Plan>
}

/** Resolves configs into plans. Rejects with RG_CONFIG_INVALID and every mistake of every file, each with its place. */
export async function resolvePlans(configs: Configs, functions: FunctionHost): Promise<Resolved> {
  const resolved = await Promise.all(
    configs.rewards.map(async (reward) => {
      const report = reportOn(reward)
      return {
        plan: await resolveReward(reward, configs, functions, report),
        problems: report.problems,
      }
    }),
  )
  const problems = inOrder([...configs.problems, ...resolved.flatMap((reward) => reward.problems)])
  if (problems.length > 0) {
    const many = problems.length === 1 ? 'a mistake' : `${problems.length} mistakes`
    throw new GatewayError('RG_CONFIG_INVALID', `the configs have ${many}`, { problems })
  }
  const models = [...configs.models].filter((entry): entry is [string, ModelConfig] => entry[1] !== null)
  return {
    gateway: configs.gateway,
    models: new Map(models),
    plans: new Map(resolved.flatMap(({ plan }) => (plan ? [[plan.name, plan] as const] : []))),
  }
}

/** Sorted by file, line and column, without duplicates. */
function inOrder(problems: readonly Problem[]): Problem[] {
  const place = ({ path }: Problem) => {
    const [, file = path, line = '0', column = '0'] = /^(.*?):(\d+):(\d+)/.exec(path) ?? []
    return { file, line: Number(line), column: Number(column) }
  }
  const unique = new Map(problems.map((problem) => [`${problem.path} ${problem.message}`, problem]))
  return [...unique.values()].sort((left, right) => {
    const [a, b] = [place(left), place(right)]
    const files = a.file < b.file ? -1 : Number(a.file > b.file)
    return files || a.line - b.line || a.column - b.column
  })
}

/** A reward's plan; null if it has mistakes, which are all reported. */
async function resolveReward(
  { name, settings, steps: written }: ParsedReward,
  { models, sandboxes: defined, gateway }: Pick<Configs, 'models' | 'sandboxes' | 'gateway'>,
  functions: FunctionHost,
  report: RewardReport,
): Promise<Plan | null> {
  const sandboxes = Object.fromEntries(defined.map((one) => [one, gateway.sandboxes[one] ?? null]))
  const { deadline_s: deadlineSeconds } = gateway.limits
  checkNames(written, report)
  const found = await Promise.all(
    written.map((step, index) => findFunction(step, ['steps', index], functions, report)),
  )
  const names = written.flatMap((step) => step.name ?? [])
  const gate = compileGate(settings.gate, written, found, report)
  const above = new Map<string, KnownStep>()
  const steps = written.map((step, index) => {
    const around = {
      reward: settings,
      deadlineSeconds,
      models,
      sandboxes,
      above: new Map(above),
      names,
      gate,
      report,
    }
    const resolved = resolveStep(step, ['steps', index], found[index] ?? null, around)
    if (step.name !== undefined) above.set(step.name, knownStep(found[index] ?? null))
    return resolved
  })
  const complete = steps.filter((step) => step !== null)
  if (complete.length === steps.length && steps.length > 0 && complete.every(({ critique }) => critique)) {
    report.add(['steps'], 'no step gives a score', 'key')
  }
  const isOverGroup = ({ kind }: PlanStep): boolean =>
    kind !== 'rule' && kind !== 'model' && kind !== 'program'
  if (settings.group && complete.length === steps.length && !complete.some(isOverGroup)) {
    report.add(['group'], 'no step is over all answers to a prompt', 'key')
  }
  const formula = settings.formula === undefined ? null : compileFormula(settings.formula, above)
  checkFormula(formula, complete, settings, report)
  if (report.problems.length > 0) return null
  const config = configOf(name, settings, written)
  const used = [...new Set(complete.flatMap(askedModels))].sort()
  return {
    name,
    version: planVersion(
      config,
      found.flatMap((one) => one?.description ?? []),
      used.flatMap((model) => {
        const definition = models.get(model)
        return definition ? [[model, definition] as const] : []
      }),
    ),
    description: settings.description ?? '',
    steps: complete,
    gate,
    formula: formula && 'expression' in formula ? formula.expression : null,
    onInvalid: onInvalidOf(settings.on_invalid ?? null),
    onStatus: onStatusOf(settings.on_status),
    arithmetic: settings.arithmetic ?? 'strict',
    group: {
      min: settings.group?.min ?? null,
      waitMs: settings.group?.wait_s === undefined ? Number.POSITIVE_INFINITY : settings.group.wait_s * 1000,
    },
    deadlineMs: settings.deadline_s === undefined ? null : settings.deadline_s * 1000,
    config,
  }
}

/** The gate may only use steps that never wait for it: ungated steps above the first gated one. */
function compileGate(
  source: string | undefined,
  written: ParsedReward['steps'],
  found: readonly (StepFunction | null)[],
  report: RewardReport,
): Expression<boolean> | null {
  if (source === undefined) return null
  const gated = written.map((step, index) => isGated(step, found[index] ?? null))
  const first = gated.indexOf(true)
  const known = new Map<string, KnownStep>()
  for (const [index, { name }] of written.entries()) {
    if (name === undefined || known.has(name)) continue
    if (gated[index]) known.set(name, { refused: "is itself behind the gate; say 'gated: false' there" })
    else if (first !== -1 && index > first)
      known.set(name, { refused: 'must stand above the first gated step' })
    else known.set(name, knownStep(found[index] ?? null))
  }
  const compiled = compileCondition(source, known)
  if (!('expression' in compiled)) {
    for (const mistake of compiled.mistakes) report.add(['gate'], mistake)
    return null
  }
  if (first === -1 && !found.includes(null))
    report.add(['gate'], 'no step is gated; a gate holds for model steps', 'key')
  return compiled.expression
}

/** A formula must handle steps that may be off, because these have no score. */
function checkFormula(
  formula: Compiled<number> | null,
  steps: readonly PlanStep[],
  { gate, arithmetic }: ParsedReward['settings'],
  report: RewardReport,
): void {
  if (formula === null) return
  if (arithmetic === 'published') {
    report.add(['arithmetic'], 'a formula has no published arithmetic; remove one of the two', 'key')
  }
  if (!('expression' in formula)) {
    for (const mistake of formula.mistakes) report.add(['formula'], mistake)
    return
  }
  for (const { name, gated, when, dataSource, onUnreadable, ask } of steps) {
    const { expression, guarded } = formula
    if (!expression.steps.includes(name) || guarded.has(name)) continue
    const why =
      gated && gate !== undefined
        ? 'the gate may be closed'
        : when
          ? "its 'when' may not hold"
          : dataSource
            ? "its 'data_source' may not match"
            : ask !== null && onUnreadable === 'skip'
              ? 'it may be skipped'
              : null
    if (why)
      report.add(
        ['formula'],
        `'${name}' can be without a score (${why}); write 'scored(${name}) ? ${name} : 0'`,
      )
  }
}

/** The config as JSON, with the schema's defaults. */
const configOf = (name: string, settings: ParsedReward['settings'], steps: ParsedReward['steps']): Json => {
  const { $schema: _, ...rest } = settings
  return JSON.parse(JSON.stringify({ ...rest, name, steps })) as Json
}

/** Checks that step names are unique and have no other meaning in results or expressions. */
function checkNames(steps: readonly Partial<StepConfig>[], report: RewardReport): void {
  const names = steps.map(({ name }) => name)
  for (const [index, name] of names.entries()) {
    if (name === undefined) continue
    const at = ['steps', index, 'name']
    if (names.indexOf(name) < index) report.add(at, `there is another step '${name}'; give each its own name`)
    if (reservedNames.has(name))
      report.add(at, `'${name}' means something else in an expression; choose another name`)
    if (resultNames.has(name))
      report.add(at, `'${name}' is a name that trainers use themselves; choose another name`)
    const base = name.replace(/_scored$/, '')
    if (base !== name && names.includes(base))
      report.add(at, `'${name}' is the metric that says whether '${base}' was scored`)
  }
}

/** Columns of verl's batches, which a metric of the same name would overwrite. */
const resultNames: ReadonlySet<string> = new Set(['reward', 'uid', 'data_source', 'raw_prompt'])

/** How expressions may use a step. */
function knownStep(found: StepFunction | null): KnownStep {
  if (found?.description.critique) return { refused: 'gives a text, not a score' }
  return { parts: found?.bound ? found.bound.parts : null }
}

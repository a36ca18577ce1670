import { didYouMean } from '../../core/nearest-name.ts'
import type { BoundFunction, FunctionDescription } from '../functions/function-host.ts'
import { defaultImages } from '../models/interface/model-config.ts'
import type { SandboxConfig } from '../sandboxes/sandbox-config.ts'
import type { ConfigPath } from './config-text.ts'
import type { RewardReport } from './configs.ts'
import { compileCondition, type Expression, type KnownStep } from './expression.ts'
import { weightOf } from './fold.ts'
import { askedModels, type OnUnreadable, type PlanStep, type SourcePattern } from './plan.ts'
import type { RewardConfig, StepConfig } from './reward-config.ts'
import type { StepFunction } from './step-function.ts'
import { budgetsOf, checkEscalation, findModels, guardOf, type KnownModels } from './step-models.ts'
import { stepIdentity } from './version.ts'

/** What a step needs to be resolved. */
export interface StepContext {
  readonly reward: Partial<Pick<RewardConfig, 'on_unreadable' | 'gate' | 'deadline_s'>>
  /** Seconds of a request whose reward names none (`limits.deadline_s`). */
  readonly deadlineSeconds: number
  readonly models: KnownModels
  /** The sandboxes in gateway.yaml; null if the definition has mistakes. */
  readonly sandboxes: Readonly<Record<string, SandboxConfig | null>>
  /** The steps above this one, which `when` may use. */
  readonly above: ReadonlyMap<string, KnownStep>
  /** Names of all steps of the reward. */
  readonly names: readonly string[]
  readonly gate: Expression<boolean> | null
  readonly report: RewardReport
}

/** Resolves a step; null if it has mistakes. Reports every mistake. */
export function resolveStep(
  step: Partial<StepConfig>,
  at: ConfigPath,
  found: StepFunction | null,
  around: StepContext,
): PlanStep | null {
  const { report, reward, gate } = around
  const sandbox = findSandbox(step, found?.description ?? null, at, around)
  const models = findModels(step, found?.description ?? null, at, around.models, report)
  checkEscalation(step, found?.description ?? null, models, at, around.models, report)
  const escalate = step.escalate ?? null
  const asked = askedModels({ models, escalate })
  if (found) checkSettings(step, found, at, report)
  if (found) checkProgramTime(step, found, at, around)
  if (found) checkLanguage(step, found, at, around)
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
  const votes = n * models.length
  if (min !== undefined && min > votes) {
    report.add([...at, 'votes', 'min'], `${min} valid votes are more than the ${votes} that are asked for`)
  }
  const onUnreadable = onUnreadableOf(step, reward, description, at, report)
  const needs = [...after, ...(when?.steps ?? []), ...(gated ? (gate?.steps ?? []) : [])]
  return {
    name: step.name,
    function: bound,
    kind,
    ask,
    critique,
    models,
    escalate,
    sandbox,
    guards: new Map(asked.map((model) => [model, guardOf(around.models.get(model))])),
    images: new Map(asked.map((model) => [model, around.models.get(model)?.images ?? defaultImages])),
    ...(step.sampling && { sampling: given(step.sampling) }),
    op: step.op ?? 'add',
    weight: weightOf(step.weight ?? 1),
    when,
    dataSource: step.data_source === undefined ? null : sourcePattern([step.data_source].flat()),
    gated,
    onUnreadable,
    votes: { n, aggregate, min: min ?? Math.floor(votes / 2) + 1, earlyStop },
    labels: step.verdict === 'expected' ? repliesOf(bound) : null,
    pairs: { scheme: 'all', neighbours: 1, swap: true, aggregate: 'bradley_terry', ...step.pairs },
    budgets: budgetsOf(asked, around.models),
    ignore: new Set([step.ignore ?? []].flat()),
    after,
    needs: [...new Set(needs)],
    timeoutMs: step.timeout_s === undefined ? Number.POSITIVE_INFINITY : step.timeout_s * 1000,
    identity: stepIdentity(description, bound.options),
  }
}

/** Whether a closed gate turns the step off. Default: true for model steps, false for rules. */
export const isGated = ({ gated }: Partial<StepConfig>, found: StepFunction | null): boolean =>
  gated ?? (found ? found.description.ask !== null : false)

function checkAfter(after: readonly string[], at: ConfigPath, { above, names, report }: StepContext): void {
  for (const name of after) {
    if (above.has(name)) continue
    const why = names.includes(name)
      ? 'comes later; move this step below it'
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
  { above, names, report }: StepContext,
): Expression<boolean> | null {
  const below = names
    .filter((name) => !above.has(name))
    .map((name) => [name, { refused: 'does not come before this step' }] as const)
  const compiled = compileCondition(source, new Map<string, KnownStep>([...above, ...below]))
  if ('expression' in compiled) return compiled.expression
  for (const mistake of compiled.mistakes) report.add(at, mistake)
  return null
}

/** Drops settings that are undefined. */
function given<T extends object>(settings: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]: Exclude<T[K], undefined>
  }
}

/** Settings for steps that ask a model. */
const modelSettings = [
  'model',
  'sampling',
  'votes',
  'verdict',
  'pairs',
  'escalate',
  'on_unreadable',
  'timeout_s',
] as const

/** The name of the step's sandbox; null unless its function runs programs. */
function findSandbox(
  { sandbox, without_sandbox: without }: Partial<StepConfig>,
  description: FunctionDescription | null,
  at: ConfigPath,
  { sandboxes: known, report }: StepContext,
): string | null {
  if (description === null) return null
  const sandboxes = Object.keys(known)
  const { name, kind } = description
  if (kind !== 'program') {
    const why = `goes with rewards that run programs; '${name}' runs none`
    if (sandbox !== undefined) report.add([...at, 'sandbox'], why, 'key')
    if (without !== undefined) report.add([...at, 'without_sandbox'], why, 'key')
    return null
  }
  if (sandbox === undefined) {
    const help =
      sandboxes.length === 0
        ? "write 'sandboxes: {local: {}}' into gateway.yaml beside the rm-configs, and 'sandbox: local' here"
        : `add 'sandbox:' with one of ${sandboxes.map((one) => `'${one}'`).join(', ')}`
    report.add(at, `'${name}' runs programs; ${help}`)
    return null
  }
  if (!sandboxes.includes(sandbox)) {
    if (without === 'invalid') return null
    const near =
      didYouMean(sandbox, sandboxes) || (sandboxes.length > 0 ? `; there are ${sandboxes.join(', ')}` : '')
    report.add([...at, 'sandbox'], `gateway.yaml defines no sandbox '${sandbox}'${near}`)
  }
  return sandbox
}

/** A program that may run longer than its request would have no score, through no fault of its own. */
function checkProgramTime(
  step: Partial<StepConfig>,
  { description, bound }: StepFunction,
  at: ConfigPath,
  { reward, deadlineSeconds, report }: StepContext,
): void {
  if (description.kind !== 'program' || bound === null) return
  const {
    mode,
    total_s: given,
    limit_s: limit,
  } = bound.options as {
    readonly mode?: string
    readonly total_s?: unknown
    readonly limit_s?: unknown
  }
  const { properties } = description.optionsSchema as {
    readonly properties?: Readonly<Record<string, { readonly default?: unknown }>>
  }
  const total = given ?? properties?.total_s?.default
  if (typeof total !== 'number' || mode === 'published') return
  if (typeof limit === 'number' && limit > total)
    report.add(
      [...at, 'options'],
      `one test may take ${limit} s (limit_s), but all tests together ${total} s (total_s); raise total_s or lower limit_s`,
    )
  const deadline = reward.deadline_s ?? deadlineSeconds
  const [seconds, name] =
    step.timeout_s !== undefined && step.timeout_s < deadline
      ? [step.timeout_s, 'timeout_s']
      : [deadline, reward.deadline_s === undefined ? 'limits.deadline_s' : 'deadline_s']
  if (total < seconds) return
  report.add(
    [...at, 'options'],
    `a program's tests may take ${total} s (total_s), but ${name} is ${seconds} s; lower total_s or raise ${name}`,
  )
}

/** Reports a language that the sandbox does not have. */
function checkLanguage(
  { sandbox = '' }: Partial<StepConfig>,
  { description, bound }: StepFunction,
  at: ConfigPath,
  { sandboxes, report }: StepContext,
): void {
  const config = Object.hasOwn(sandboxes, sandbox) ? sandboxes[sandbox] : null
  if (description.kind !== 'program' || bound === null || !config) return
  const { language } = bound.options as { readonly language?: unknown }
  const languages: readonly unknown[] = config.languages
  if (typeof language !== 'string' || languages.includes(language)) return
  const wanted = [...languages, language].join(', ')
  report.add(
    [...at, 'options', 'language'],
    `the sandbox '${sandbox}' runs ${languages.join(', ')}; write 'languages: [${wanted}]' under it in gateway.yaml`,
  )
}

/** Reports settings that do not fit the kind of function. */
function checkSettings(
  step: Partial<StepConfig>,
  { description, bound }: StepFunction,
  at: ConfigPath,
  report: RewardReport,
): void {
  const { name, kind, ask, critique } = description
  const refuse = (settings: readonly (keyof StepConfig)[], why: string) => {
    for (const setting of settings) if (step[setting] !== undefined) report.add([...at, setting], why, 'key')
  }
  if (kind === 'program')
    refuse(
      modelSettings.filter((setting) => setting !== 'timeout_s'),
      `goes with rewards that ask a model; '${name}' runs programs`,
    )
  else if (ask === null) refuse(modelSettings, `goes with reward models; '${name}' is a rule and asks none`)
  else if (kind !== 'pair')
    refuse(['pairs'], `goes with rewards that compare two answers; '${name}' does not`)
  if (ask === 'decide')
    refuse(['sampling'], `goes with generated texts; '${name}' asks for the probability of answers`)
  if (critique)
    refuse(['op', 'weight', 'on_unreadable'], `goes with scores; '${name}' gives a text for later steps`)
  if (kind === 'pair' && bound && !bound.range.every(Number.isFinite)) {
    report.add([...at, 'function'], `'${name}' compares answers; its range must have two ends`)
  }
  const { aggregate = 'mean', early_stop: stopsEarly = false } = step.votes ?? {}
  if (stopsEarly && (critique || aggregate === 'mean')) {
    const why = critique ? `'${name}' gives texts` : 'every vote changes a mean'
    report.add([...at, 'votes', 'early_stop'], `there is nothing to stop early: ${why}`, 'key')
  }
  if (step.verdict === 'expected' && ask !== null && bound && repliesOf(bound) === null) {
    report.add(
      [...at, 'verdict'],
      `'expected' goes with functions whose reply is one of a few words; '${name}' is not`,
    )
  }
}

/** The replies that a function's judge may choose from; null: any text. */
const repliesOf = ({ reply }: BoundFunction): readonly string[] | null =>
  reply && 'choice' in reply && reply.choice.length > 1 ? reply.choice : null

/**
 * Matches a data source against patterns. `*` matches any text; a leading `!` excludes. Exclusions alone include everything
 * else. A missing data source counts as ''.
 */
export function sourcePattern(patterns: readonly string[]): SourcePattern {
  const excluded = patterns
    .filter((pattern) => pattern.startsWith('!'))
    .map((pattern) => pattern.slice(1).split('*'))
  const included = patterns.filter((pattern) => !pattern.startsWith('!')).map((pattern) => pattern.split('*'))
  return {
    patterns,
    matches(dataSource = '') {
      if (excluded.some((pieces) => fits(dataSource, pieces))) return false
      return included.length === 0 || included.some((pieces) => fits(dataSource, pieces))
    },
  }
}

/** Whether the text consists of the pieces in order, with any text between. Linear: the first match is always good enough. */
function fits(text: string, pieces: readonly string[]): boolean {
  const [first = '', ...rest] = pieces
  const last = rest.pop()
  if (last === undefined) return text === first
  if (!text.startsWith(first) || !text.endsWith(last)) return false
  let from = first.length
  for (const piece of rest) {
    const at = text.indexOf(piece, from)
    if (at === -1) return false
    from = at + piece.length
  }
  return from <= text.length - last.length
}

/**
 * What becomes of a judge's text without a verdict: a step's setting, or its reward's where that fits its function. Reports one
 * that does not fit.
 */
function onUnreadableOf(
  step: Pick<Partial<StepConfig>, 'on_unreadable'>,
  reward: Partial<Pick<RewardConfig, 'on_unreadable'>>,
  description: FunctionDescription,
  at: ConfigPath,
  report: RewardReport,
): OnUnreadable {
  const said = step.on_unreadable ?? reward.on_unreadable ?? 'fail'
  const why = refusesNumber(description)
  if (why !== null && typeof step.on_unreadable === 'number') report.add([...at, 'on_unreadable'], why)
  if (description.kind === 'pair' && typeof said === 'number' && !(said >= 0 && said <= 1)) {
    report.add([...at, 'on_unreadable'], `${said} is not a probability; a comparison needs one from 0 to 1`)
  }
  return typeof said === 'number' && why !== null ? 'fail' : said
}

/** Why nothing but a reply gives this function's scores a number; null: a config may name one. */
function refusesNumber({ name, kind, ask }: FunctionDescription): string | null {
  if (ask === 'service') return 'a reply of a service that holds no score is never a number'
  if (ask === 'decide') return 'a decision without readable probabilities is never a number'
  if (kind !== 'questions' && kind !== 'group-questions') return null
  return `'${name}' asks several questions, and a reply to one that holds no verdict is never a number`
}

import type { z } from 'zod'
import type { ModelConfig } from '../models/interface/model-config.ts'
import { rewardRange } from './fold.ts'
import type { OnInvalid, OnStatus, Plan, PlanStep } from './plan.ts'
import type { weightSchedule } from './reward-config.ts'

/** Explains in words what a plan does with a sample, one sentence per line. */
export function explainPlan(plan: Plan): string[] {
  const { name, version, description, steps, gate, formula, arithmetic, deadlineMs } = plan
  const [low, high] = rewardRange(plan) ?? []
  return [
    `${name} (version ${version})${description ? `: ${description}` : ''}`,
    ...steps.flatMap((step, index) => explainStep(plan, step, index)),
    gate
      ? `  The gate is open where ${gate.source}; where it is closed, gated steps are off and no question is asked.`
      : '',
    formula ? `  The reward is ${formula.source}.` : '',
    formula?.environment
      ? `  A sample without these rewards of its environment is invalid where it reads them: ${formula.environment.join(', ')}.`
      : '',
    low === undefined || high === undefined ? '' : `  The reward lies ${between(low, high)}.`,
    arithmetic === 'published' ? '  It is computed in float32, and a closed gate counts as score 0.' : '',
    steps.some(isGroupStep) ? groupWords(plan.group) : '',
    `  A sample that cannot be scored is invalid${invalidWords(plan.onInvalid)}.`,
    statusWords(plan.onStatus),
    deadlineMs === null ? '' : `  A request may take ${deadlineMs / 1000} s.`,
  ].filter((line) => line !== '')
}

/** Describes a model and its instances in one line. */
export function explainModel(name: string, config: ModelConfig): string {
  const { model, backend, service, instances, max_in_flight, timeout_s } = config
  const urls = instances.map((instance) => (typeof instance === 'string' ? instance : instance.url))
  const where = urls.length === 0 ? 'no instances yet' : urls.join(', ')
  const limits = `${max_in_flight} ${service ? 'requests' : 'questions'} at once each, ${timeout_s} s for one`
  if (!service) return `${name}: ${model} by ${backend} on ${where}; ${limits}`
  const repeats = service.idempotent ? 'repeated after failures' : 'never repeated once sent'
  return `${name}: a service at ${service.path} on ${where}; ${limits}, ${repeats}`
}

function explainStep(plan: Plan, step: PlanStep, index: number): string[] {
  const {
    name,
    function: bound,
    critique,
    models,
    votes,
    when,
    dataSource,
    ignore,
    after,
    gated,
    onUnreadable,
  } = step
  const asks =
    step.ask === null
      ? ''
      : ` asks ${models.join(' and ')} (${step.labels ? 'probabilities' : step.ask})${voteWords(votes, models.length)}${escalateWords(step)}${step.kind === 'pair' ? pairWords(step.pairs) : ''}`
  const scores = critique
    ? ', for a text that later steps read'
    : `${asks && ','} scores ${between(...bound.range)}`
  const conditions = [
    gated && plan.gate ? 'the gate is open' : '',
    when ? when.source : '',
    dataSource ? `the data source fits ${dataSource.patterns.join(', ')}` : '',
  ].filter((condition) => condition !== '')
  const only = conditions.length > 0 ? ` Only where ${conditions.join(' and ')}.` : ''
  const reads = after.length > 0 ? ` Reads what ${after.join(', ')} said.` : ''
  const counts = critique || plan.formula ? '' : ` ${countWords(step, index, weightText(plan, index))}`
  const unreadable =
    step.ask !== null && !critique
      ? ` ${unreadableWords(onUnreadable, step.ask === 'decide' ? 'An unreadable answer' : 'A text without a verdict')}`
      : ''
  const ignores = ignore.size > 0 ? ` Ignores parts of type ${[...ignore].join(', ')}.` : ''
  const lacks =
    step.kind === 'program' && step.sandbox === null
      ? ' gateway.yaml does not define its sandbox, so its samples are invalid.'
      : ''
  return [
    `  ${index + 1}. ${name}: ${bound.name}${asks}${scores}.${counts}${only}${reads}${ignores}${unreadable}${lacks}`,
  ]
}

const isGroupStep = ({ kind }: PlanStep): boolean =>
  kind !== 'rule' && kind !== 'model' && kind !== 'program' && kind !== 'questions'

function groupWords({ min, waitMs }: Plan['group']): string {
  const who = min === null ? 'All' : `At least ${min}`
  return Number.isFinite(waitMs)
    ? `  ${who} answers to a prompt must come within ${waitMs / 1000} s of the first.`
    : `  ${who} answers to a prompt must come in one request.`
}

/** When a second judge is asked. */
const escalateWords = ({ escalate }: PlanStep): string =>
  escalate ? `, and ${escalate.model} where no answer has a probability of ${escalate.below} or more` : ''

/** How a pair reward compares a group's answers. */
function pairWords({ scheme, neighbours, swap, aggregate }: PlanStep['pairs']): string {
  const which =
    scheme === 'all'
      ? 'each two answers'
      : `each answer and the next ${neighbours === 1 ? 'one' : neighbours}`
  const fit =
    aggregate === 'mean_wins' ? 'the share of wins' : 'the share of wins that Bradley-Terry strengths expect'
  return `, comparing ${which}${swap ? ' in both orders' : ''}, by ${fit}`
}

function countWords({ op }: PlanStep, index: number, weight: string): string {
  const amount = weight === '1' ? 'its score' : `${weight} x its score`
  if (index === 0) return `The reward starts with ${amount}.`
  return op === 'mul' ? `Multiplies the reward by ${amount}.` : `Adds ${amount}.`
}

/** The weight as written: a number, or the schedule in words. */
function weightText({ config }: Plan, index: number): string {
  const { steps } = config as unknown as {
    steps: readonly { weight?: number | z.output<typeof weightSchedule> }[]
  }
  const weight = steps[index]?.weight ?? 1
  if (typeof weight === 'number') return String(weight)
  const points = weight.points.map(([step, value]) => `${value} at step ${step}`).join(', ')
  return `(${points}, ${weight.between}; ${weight.without_step} without a step)`
}

function voteWords({ n, aggregate, min, earlyStop }: PlanStep['votes'], models: number): string {
  if (n * models <= 1) return ''
  const times = n === 1 ? 'once each' : models > 1 ? `${n} times each` : `${n} times`
  return ` ${times} and takes the ${aggregate.replace('_', ' ')}, of at least ${min} verdicts${earlyStop ? ', no more than are needed' : ''}`
}

function unreadableWords(setting: PlanStep['onUnreadable'], what: string): string {
  if (setting === 'fail') return `${what} makes the sample invalid.`
  if (setting === 'skip') return `${what} turns the step off for this sample.`
  return `${what} counts as ${setting}.`
}

/** What differs from the defaults. */
function statusWords({ truncated, tool_limit, aborted, env_error }: OnStatus): string {
  const ended = { truncated: 'was cut off', tool_limit: 'ran into a limit of turns' }
  const broken = { aborted: 'was aborted', env_error: 'has a broken environment' }
  const invalid = [
    ...(truncated === 'invalid' ? [ended.truncated] : []),
    ...(tool_limit === 'invalid' ? [ended.tool_limit] : []),
  ]
  const scored = [
    ...(aborted === 'score' ? [broken.aborted] : []),
    ...(env_error === 'score' ? [broken.env_error] : []),
  ]
  return [
    invalid.length > 0 ? `  A rollout that ${invalid.join(' or ')} is invalid.` : '',
    scored.length > 0 ? `  A rollout that ${scored.join(' or ')} is scored.` : '',
  ]
    .filter((line) => line !== '')
    .join('\n')
}

function invalidWords(onInvalid: OnInvalid): string {
  switch (onInvalid.kind) {
    case 'null':
      return ' and has no number'
    case 'fail':
      return ' and fails the whole request'
    case 'number':
      return `; trainers that know no 'invalid' are given ${onInvalid.value}`
    case 'group_mean':
      return `; trainers that know no 'invalid' are given the mean of its group's valid answers, else ${onInvalid.fallback ?? 'no number'}`
  }
}

const between = (low: number, high: number): string =>
  low === high ? `at ${low}` : `from ${rounded(low)} to ${rounded(high)}`

/** A number with 12 significant digits, which hide the noise of binary fractions. */
export const rounded = (value: number): string => String(Number(value.toPrecision(12)))

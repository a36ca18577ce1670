import type { AskName } from '../../contract/index.ts'
import { didYouMean } from '../../core/nearest-name.ts'
import type { BoundFunction, FunctionDescription } from '../functions/function-host.ts'
import type { ModelConfig } from '../models/api/model-config.ts'
import type { ConfigPath } from './config-text.ts'
import type { PlanStep } from './plan.ts'
import type { StepConfig } from './reward-config.ts'
import type { RewardReport } from './reward-report.ts'
import type { StepFunction } from './step-function.ts'

type KnownModels = ReadonlyMap<string, ModelConfig | null>

const all: readonly AskName[] = ['generate', 'classify', 'rewards', 'embed', 'choose']

/** What each kind of server can be asked. */
const asksOf: Readonly<Record<ModelConfig['backend'], readonly AskName[]>> = {
  vllm: all,
  sglang: all,
  openai: ['generate', 'embed', 'choose'],
}

/** Settings that mean something only where a model is asked. */
const modelSettings = [
  'model',
  'sampling',
  'votes',
  'verdict',
  'pairs',
  'on_unreadable',
  'timeout_s',
] as const

/** The step's models by name, each known, each once, each able to answer what the function asks. */
export function findModels(
  { model = [] }: Partial<StepConfig>,
  description: FunctionDescription | null,
  at: ConfigPath,
  models: KnownModels,
  report: RewardReport,
): readonly string[] {
  const asked = [model].flat()
  const { name = '', ask = null } = description ?? {}
  for (const [index, each] of asked.entries()) {
    const place = [...at, 'model', ...(Array.isArray(model) ? [index] : [])]
    const config = models.get(each)
    if (config === undefined) {
      const near = didYouMean(each, models.keys()) || `; there are ${listed(models)}`
      report.add(place, `there is no model '${each}'${near}`)
    } else if (config && ask !== null && !asksOf[config.backend].includes(ask)) {
      report.add(
        place,
        `'${name}' asks for ${ask}, which a server of backend ${config.backend} cannot answer`,
      )
    }
    if (asked.indexOf(each) < index) {
      report.add(place, `'${each}' is in the panel twice; use votes for several draws`)
    }
  }
  if (ask !== null && asked.length === 0) {
    const help =
      models.size === 0
        ? "define one under 'models:' in gateway.yaml beside the rm-configs, and name it in 'model:'"
        : `add 'model:' with one of ${listed(models)}`
    report.add(at, `'${name}' asks a model; ${help}`)
  }
  return asked
}

/** Tells of settings that do not go with what the function is. */
export function checkSettings(
  step: Partial<StepConfig>,
  { description, bound }: StepFunction,
  at: ConfigPath,
  report: RewardReport,
): void {
  const { name, kind, ask, critique } = description
  const refuse = (settings: readonly (keyof StepConfig)[], why: string) => {
    for (const setting of settings) if (step[setting] !== undefined) report.add([...at, setting], why, 'key')
  }
  if (ask === null) refuse(modelSettings, `goes with reward models; '${name}' is a rule and asks none`)
  else if (kind !== 'pair')
    refuse(['pairs'], `goes with rewards that compare two answers; '${name}' does not`)
  if (critique)
    refuse(['op', 'weight', 'on_unreadable'], `goes with scores; '${name}' gives a text for later steps`)
  if (kind === 'pair' && bound && !bound.range.every(Number.isFinite)) {
    report.add([...at, 'function'], `'${name}' compares answers; its range must have two ends`)
  }
  const { aggregate = 'mean', early_stop: stopsEarly = false } = step.votes ?? {}
  if (stopsEarly && (critique || aggregate === 'mean')) {
    const why = critique ? `'${name}' gives texts` : 'every draw changes a mean'
    report.add([...at, 'votes', 'early_stop'], `there is nothing to stop early: ${why}`, 'key')
  }
  if (step.verdict === 'expected' && ask !== null && bound && repliesOf(bound) === null) {
    report.add(
      [...at, 'verdict'],
      `'expected' goes with functions whose reply is one of a few words; '${name}' is not`,
    )
  }
}

/** The words that a function's judge may reply; null: it may say anything. */
export const repliesOf = ({ reply }: BoundFunction): readonly string[] | null =>
  reply && 'choice' in reply && reply.choice.length > 1 ? reply.choice : null

/** Of those models whose config limits the prompt. */
export function budgetsOf(names: readonly string[], models: KnownModels): PlanStep['budgets'] {
  return new Map(
    names.flatMap((name) => {
      const { max_prompt_tokens: maxTokens = 0, on_long_prompt: onLong = 'fail' } = models.get(name) ?? {}
      return maxTokens > 0 ? [[name, { maxTokens, onLong }] as const] : []
    }),
  )
}

const listed = (models: KnownModels): string =>
  models.size === 0
    ? 'no models (gateway.yaml defines none)'
    : [...models.keys()].map((name) => `'${name}'`).join(', ')

import { type AskName, askNames } from '../../contract/asks.ts'
import { didYouMean } from '../../core/nearest-name.ts'
import type { FunctionDescription } from '../functions/function-host.ts'
import {
  type BackendName,
  fullGuard,
  type GuardConfig,
  type ModelConfig,
  noGuard,
} from '../models/interface/model-config.ts'
import type { ConfigPath } from './config-text.ts'
import type { RewardReport } from './configs.ts'
import type { PlanStep } from './plan.ts'
import type { StepConfig } from './reward-config.ts'

/** The models in gateway.yaml; null if the definition has mistakes. */
export type KnownModels = ReadonlyMap<string, ModelConfig | null>

const ofModels: readonly AskName[] = askNames.filter((ask) => ask !== 'service')

/** The asks that each backend supports. */
const asksOf: Readonly<Record<BackendName, readonly AskName[]>> = {
  vllm: ofModels,
  sglang: ofModels,
  openai: ['generate', 'embed', 'choose', 'decide'],
  service: ['service'],
}

/** The names of the step's models. Reports names that are unknown or repeated, and models that cannot answer the ask. */
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
      report.add(place, `'${each}' is in the panel twice; use 'votes' to ask it several times`)
    }
  }
  if (ask !== null && asked.length === 0) {
    const help =
      models.size === 0
        ? "define one under 'models:' in gateway.yaml beside the rm-configs, and name it in 'model:' of a config's step"
        : `add 'model:' with one of ${listed(models)}`
    report.add(at, `'${name}' asks a model; ${help}`)
  }
  return asked
}

/** Reports a second model that cannot be asked, or whose answer would say nothing new. */
export function checkEscalation(
  { escalate }: Partial<StepConfig>,
  description: FunctionDescription | null,
  first: readonly string[],
  at: ConfigPath,
  models: KnownModels,
  report: RewardReport,
): void {
  if (!escalate || description === null) return
  const { name, ask } = description
  const place = [...at, 'escalate']
  if (ask !== 'decide') {
    report.add(
      place,
      `goes with decisions, whose probabilities tell how sure they are; '${name}' makes none`,
      'key',
    )
    return
  }
  if (first.includes(escalate.model))
    report.add([...place, 'model'], `'${escalate.model}' is the first judge already; name another model`)
  const config = models.get(escalate.model)
  if (config === undefined)
    report.add(
      [...place, 'model'],
      `there is no model '${escalate.model}'${didYouMean(escalate.model, models.keys()) || `; there are ${listed(models)}`}`,
    )
  else if (config && !asksOf[config.backend].includes('decide'))
    report.add(
      [...place, 'model'],
      `'${name}' asks for decide, which a server of backend ${config.backend} cannot answer`,
    )
}

/** What the guard does before a model; a service reads no instructions. */
export const guardOf = (model: ModelConfig | null | undefined): GuardConfig =>
  model?.backend === 'service' ? noGuard : (model?.guard ?? fullGuard)

/** Model -> limit of its prompts, for models that have one. */
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

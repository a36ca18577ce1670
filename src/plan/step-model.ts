import type { AskName } from '../contract/index.ts'
import type { FunctionDescription } from '../functions/function-host.ts'
import type { ModelConfig } from '../models/model-config.ts'
import { didYouMean } from '../nearest-name.ts'
import type { ConfigPath } from './config-text.ts'
import type { StepConfig } from './reward-config.ts'
import type { RewardReport } from './reward-report.ts'

type KnownModels = ReadonlyMap<string, ModelConfig | null>

const all: readonly AskName[] = ['generate', 'classify', 'rewards', 'embed', 'choose']

/** What each kind of server can be asked. */
const asksOf: Readonly<Record<ModelConfig['backend'], readonly AskName[]>> = {
  vllm: all,
  sglang: all,
  openai: ['generate', 'embed', 'choose'],
}

/** Settings that mean something only where a model is asked. */
const modelSettings = ['model', 'sampling', 'votes', 'on_unreadable', 'timeout_s'] as const

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
    report.add(at, `'${name}' asks a model; add 'model:' with one of ${listed(models)}`)
  }
  return asked
}

/** Tells of settings that do not go with what the function is. */
export function checkSettings(
  step: Partial<StepConfig>,
  { name, kind, ask, critique }: FunctionDescription,
  at: ConfigPath,
  report: RewardReport,
): void {
  const refuse = (settings: readonly (keyof StepConfig)[], why: string) => {
    for (const setting of settings) if (step[setting] !== undefined) report.add([...at, setting], why, 'key')
  }
  if (ask === null) refuse(modelSettings, `goes with reward models; '${name}' is a rule and asks none`)
  if (critique)
    refuse(['op', 'weight', 'on_unreadable'], `goes with scores; '${name}' gives a text for later steps`)
  if (kind === 'pair' || kind === 'list') {
    report.add([...at, 'function'], `'${name}' judges a group by its model; only rules score groups here`)
  }
}

const listed = (models: KnownModels): string =>
  models.size === 0
    ? 'no models (gateway.yaml defines none)'
    : [...models.keys()].map((name) => `'${name}'`).join(', ')

import type { AskName } from '../contract/index.ts'
import type { Settings } from './backend.ts'
import type { ModelConfig } from './model-config.ts'
import type { AskRequest, Sampling } from './models.ts'

const merged = new WeakMap<ModelConfig, WeakMap<Sampling, Sampling>>()
const none: Sampling = {}

/** What a question asks beside its text: the step's settings over its model's. One object for each step of a config. */
export function settingsOf(config: ModelConfig, { sampling = none, reply, draw }: AskRequest): Settings {
  let known = merged.get(config)
  if (!known) {
    known = new WeakMap()
    merged.set(config, known)
  }
  let both = known.get(sampling)
  if (!both) {
    both = { ...(config.sampling as Sampling), ...sampling }
    known.set(sampling, both)
  }
  return { sampling: both, reply, draw }
}

const texts = new WeakMap<object, string>()

/** The JSON of what many questions share, written once. */
function textOf(shared: object): string {
  let text = texts.get(shared)
  if (text === undefined) {
    text = JSON.stringify(shared)
    texts.set(shared, text)
  }
  return text
}

/** Equal for questions that one answer serves. `identity`: the model, its weights and how it is asked. */
export const keyOf = (
  { ask, key, draw }: AskRequest,
  { sampling, reply }: Settings,
  identity: string,
): string => `${key} ${draw} ${ask} ${identity} ${textOf(sampling)} ${reply ? textOf(reply) : ''}`

/** Whether the answer is kept. Only generated text differs from one time to the next. */
export function isKept(config: ModelConfig, ask: AskName, { sampling }: Settings): boolean {
  if (config.cache !== 'auto') return config.cache === 'always'
  return ask !== 'generate' || sampling.temperature === 0
}

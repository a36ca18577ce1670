import type { AskName } from '../contract/index.ts'
import type { Settings } from './backend.ts'
import type { ModelConfig } from './model-config.ts'
import type { AskRequest, Sampling } from './models.ts'

/** What a question asks beside its text: the step's settings over its model's. */
export function settingsOf(config: ModelConfig, { sampling, reply, draw }: AskRequest): Settings {
  return { sampling: { ...(config.sampling as Sampling), ...sampling }, reply, draw }
}

/** Equal for questions that one answer serves. `identity`: the model, its weights and how it is asked. */
export function keyOf(
  { ask, key, draw }: AskRequest,
  { sampling, reply }: Settings,
  identity: string,
): string {
  const how = reply ? JSON.stringify([sampling, reply]) : JSON.stringify(sampling)
  return `${key} ${draw} ${ask} ${identity} ${how}`
}

/** Whether the answer is kept. Only generated text differs from one time to the next. */
export function isKept(config: ModelConfig, ask: AskName, { sampling }: Settings): boolean {
  if (config.cache !== 'auto') return config.cache === 'always'
  return ask !== 'generate' || sampling.temperature === 0
}

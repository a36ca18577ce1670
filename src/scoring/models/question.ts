import type { AskName } from '../../contract/index.ts'
import { memoizeByObject } from '../../core/memoize.ts'
import type { AskRequest, Sampling } from './api/ask.ts'
import type { ModelConfig } from './api/model-config.ts'
import type { Settings } from './backends/backend.ts'

const mergedWith = memoizeByObject((config: ModelConfig) =>
  memoizeByObject((sampling: Sampling): Sampling => ({ ...(config.sampling as Sampling), ...sampling })),
)
const none: Sampling = {}

/** What a question asks beside its text: the step's settings over its model's. One object for each step of a config. */
export const settingsOf = (config: ModelConfig, { sampling = none, reply, draw }: AskRequest): Settings => ({
  sampling: mergedWith(config)(sampling),
  reply,
  draw,
})

/** The JSON of what many questions share. */
const textOf = memoizeByObject((shared: object) => JSON.stringify(shared))

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

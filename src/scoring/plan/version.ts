import { createHash } from 'node:crypto'
import { packageVersion } from '../../core/package-version.ts'
import type { Json } from '../../core/sample/sample.ts'
import type { FunctionDescription } from '../functions/function-host.ts'
import type { ModelConfig } from '../models/interface/model-config.ts'

/**
 * A hash (16 hex digits) of everything that determines a reward: its config, its functions, its models and how they are
 * asked, and this package. Addresses, timeouts and retries do not count.
 */
export function planVersion(
  config: Json,
  functions: readonly FunctionDescription[],
  models: readonly (readonly [string, ModelConfig])[],
): string {
  return digest({
    package: packageVersion,
    config,
    functions: functions.map(({ name, hash }) => [name, hash]),
    models: models.map(([name, model]) => [
      name,
      { ...Object.fromEntries(deciding.map((key) => [key, model[key]])), service: model.service?.path },
    ]),
  }).slice(0, 16)
}

/** The settings of a model that determine its questions and the meaning of its answers. */
const deciding = [
  'backend',
  'model',
  'revision',
  'sampling',
  'chat_template',
  'classify',
  'choose',
  'decide',
  'rewards',
  'guard',
  'max_prompt_tokens',
  'count_tokens',
  'on_long_prompt',
] as const satisfies readonly (keyof ModelConfig)[]

/** A hash that differs between functions of different sources or options, so that their questions stay apart. */
export function stepIdentity({ name, hash }: FunctionDescription, options: Json): string {
  return digest([name, hash, options]).slice(0, 32)
}

const digest = (value: unknown): string => createHash('sha256').update(canonicalJson(value)).digest('hex')

/** JSON with sorted keys, so that equal data give equal text. `textOf` replaces each string. */
export function canonicalJson(value: unknown, textOf?: (text: string) => string): string {
  return JSON.stringify(value, (_, inner: unknown) => {
    if (typeof inner === 'object' && inner !== null && !Array.isArray(inner))
      return Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
    return textOf && typeof inner === 'string' ? textOf(inner) : inner
  })
}

import { createHash } from 'node:crypto'
import type { FunctionDescription } from '../functions/function-host.ts'
import type { ModelConfig } from '../models/model-config.ts'
import { packageVersion } from '../package-version.ts'
import type { Json } from '../sample/json.ts'
import { canonicalJson } from './canonical-json.ts'

/** 16 hex digits of everything that decides a reward: config, functions, what the models are, the package. */
export function planVersion(
  config: Json,
  functions: readonly FunctionDescription[],
  models: readonly (readonly [string, ModelConfig])[],
): string {
  return digest({
    package: packageVersion,
    config,
    functions: functions.map(({ name, hash }) => [name, hash]),
    models: models.map(([name, { backend, model, revision, sampling }]) => ({
      name,
      backend,
      model,
      revision,
      sampling,
    })),
  }).slice(0, 16)
}

/** Tells apart the questions of functions with other sources or options. */
export function stepIdentity({ name, hash }: FunctionDescription, options: Json): string {
  return digest([name, hash, options]).slice(0, 32)
}

const digest = (value: unknown): string => createHash('sha256').update(canonicalJson(value)).digest('hex')

import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { GatewayError } from '../errors.ts'

/** What openGateway reads: files and folders of configs, or one made from a single function. */
export interface ConfigSources {
  readonly configs: readonly string[]
  readonly inline: readonly { readonly file: string; readonly text: string }[]
}

/** A function becomes a reward of one step with its name; without a config or a function, the shipped configs hold. */
export function configsOf(values: {
  config?: string | undefined
  function?: string | undefined
  options?: string
}): ConfigSources {
  const { config, function: name, options = '{}' } = values
  if (name !== undefined)
    return { configs: [], inline: [{ file: `${name}.json`, text: oneStep(name, options) }] }
  return { configs: [config ?? shippedConfigs()], inline: [] }
}

function oneStep(name: string, options: string): string {
  try {
    return JSON.stringify({ steps: [{ name, function: name, options: JSON.parse(options) }] })
  } catch (cause) {
    throw new GatewayError('RG_COMMAND_INVALID', `--options ${options}: no JSON`, { cause })
  }
}

/** The rm-configs folder of the package: beside src in a clone, beside dist in an installed package. */
export function shippedConfigs(): string {
  const here = dirname(fileURLToPath(import.meta.url))
  const found = ['../../rm-configs', '../../../rm-configs']
    .map((path) => join(here, path))
    .find((path) => existsSync(path))
  if (!found)
    throw new GatewayError('RG_COMMAND_INVALID', 'the package has lost its rm-configs; give --config')
  return found
}

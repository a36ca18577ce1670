import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { GatewayError } from '../errors.ts'
import { misused, text, textOr, texts } from './arguments.ts'

/** A reward that is a single function, and where to look for functions. */
export const functionOptions = { function: text, options: textOr('{}'), 'reward-functions': texts } as const

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
  if (name !== undefined) return inlineReward(name, [{ name, function: name, options: optionsIn(options) }])
  return { configs: [config ?? shippedConfigs()], inline: [] }
}

/** A reward of its own name and steps, as if a config file held it. */
export const inlineReward = (name: string, steps: readonly unknown[]): ConfigSources => ({
  configs: [],
  inline: [{ file: `${name}.json`, text: JSON.stringify({ steps }) }],
})

function optionsIn(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new GatewayError('RG_COMMAND_INVALID', `--options ${text}: no JSON`, { cause })
  }
}

/** The rm-configs folder of the package: beside src in a clone, beside dist in an installed package. */
export function shippedConfigs(): string {
  const here = dirname(fileURLToPath(import.meta.url))
  const found = ['../../rm-configs', '../../../rm-configs']
    .map((path) => join(here, path))
    .find((path) => existsSync(path))
  if (!found) throw misused('the package has lost its rm-configs; give --config')
  return found
}

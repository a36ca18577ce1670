import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { GatewayError } from '../core/errors.ts'
import type { Gateway } from '../scoring/gateway/gateway.ts'
import { type ConfigPath, type ConfigText, pathText } from '../scoring/plan/config-text.ts'
import { misused, text, textOr, texts } from './arguments.ts'

/** A reward that is a single function, and where to look for functions. */
export const functionOptions = { function: text, options: textOr('{}'), 'reward-functions': texts } as const

/** What openGateway reads: files and folders of configs, or one made from a single function. */
export interface ConfigSources {
  readonly configs: readonly string[]
  readonly inline: readonly ConfigText[]
}

/** A function becomes a reward of one step with its name; without a config or a function, the shipped configs hold. */
export function configsOf(values: {
  config?: string | undefined
  function?: string | undefined
  reward?: string | undefined
  options?: string
}): ConfigSources {
  const { config, function: name, reward, options = '{}' } = values
  if (name !== undefined) {
    if (reward !== undefined)
      throw misused(
        '--function is the only reward; --reward chooses one of a --config: leave one of them out.',
      )
    const steps = [{ name, function: name, options: optionsIn(options) }]
    return inlineReward(name, steps, ([, , key, ...inner]) =>
      key === 'options' ? `--options ${pathText(inner)}`.trim() : `--function ${name}`,
    )
  }
  return { configs: [config ?? shippedConfigs()], inline: [] }
}

/** A reward of its own name and steps, as if a config file held it; `placeOf` says where a mistake in it stands. */
export const inlineReward = (
  name: string,
  steps: readonly unknown[],
  placeOf: (path: ConfigPath) => string,
): ConfigSources => ({
  configs: [],
  inline: [{ file: `${name}.json`, text: JSON.stringify({ steps }), placeOf }],
})

function optionsIn(text: string): unknown {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : ''
    throw new GatewayError(
      'RG_COMMAND_INVALID',
      `--options ${text}: is no JSON (${why}); quote it: '{"name": 1}'`,
      {
        cause,
      },
    )
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value
  throw misused(`--options ${text}: an object is needed, e.g. '{"name": 1}'`)
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

/** The reward that was named, or the only one there is; throws RG_REWARD_UNKNOWN or RG_COMMAND_INVALID. */
export function rewardOf(gateway: Gateway, named: string | undefined): string {
  if (named) return gateway.reward(named).name
  const names = gateway.rewards().map(({ name }) => name)
  if (names.length === 1 && names[0]) return names[0]
  throw new GatewayError(
    'RG_COMMAND_INVALID',
    `the config holds ${names.length} rewards (${names.join(', ')}): choose one with --reward`,
  )
}

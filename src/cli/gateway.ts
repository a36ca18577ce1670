/** Opens the gateway that a command scores with, from its configs or from a single function. */
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { systemClock } from '../core/clock.ts'
import { GatewayError } from '../core/errors.ts'
import { reasonOf } from '../core/system-error.ts'
import type { Gateway } from '../scoring/gateway/gateway.ts'
import { type ConfigPath, type ConfigText, pathText } from '../scoring/plan/config-text.ts'
import type { ObservedGateway, ObservedOptions } from '../serving/observed-gateway.ts'
import type { Io } from './command.ts'
import { BadValue, file, misused, option, repeated, text } from './options.ts'
import { tellWaiting } from './parked-news.ts'

/** The sources of openGateway: files and folders of configs, or a config made from a single function. */
export interface ConfigSources {
  readonly configs: readonly string[]
  readonly inline: readonly ConfigText[]
}

/** Opens a gateway, reports on standard error if it waits for judges, and closes it after `work`. */
export async function withGateway<T>(
  sources: ConfigSources & Pick<ObservedOptions, 'functionFolders'>,
  io: Io,
  work: (gateway: ObservedGateway) => Promise<T>,
  events: NonNullable<ObservedOptions['events']> = {},
): Promise<T> {
  // It takes most of a second to load, and help and completion do not need it.
  const { openObservedGateway } = await import('../serving/observed-gateway.ts')
  let opened: ObservedGateway | null = null
  const news = tellWaiting(io, systemClock, () => opened)
  try {
    const gateway = await openObservedGateway({
      ...sources,
      env: io.env,
      events: { ...events, models: { ...events.models, parked: news.parked } },
    })
    opened = gateway
    for (const { name, confinement } of gateway.sandboxes())
      if (confinement?.isConfined === false)
        io.stderr.write(`warning: sandbox ${name}: ${confinement.text}\n`)
    try {
      return await work(gateway)
    } finally {
      await gateway.close(0)
    }
  } finally {
    news.end()
  }
}

/** Options of commands that score with a config. */
export const configOptions = {
  config: file('PATH', 'an rm-config, or a folder of them with a gateway.yaml'),
  reward: text('NAME', 'the reward to use, if the configs have several', { suggests: 'rewards' }),
}

/** Folders of reward functions, in addition to those that the configs name. */
export const functionFolders = repeated(
  file('DIR', 'a folder with reward functions', { suggests: 'folders' }),
)

/** Options of commands that accept a reward function instead of a config. */
export const functionOptions = {
  function: text('NAME', 'a reward function to use as the only reward, instead of a config'),
  options: option('JSON', 'its options, as a JSON object', readFunctionOptions),
  'reward-functions': functionFolders,
}

/**
 * Turns a function into a reward with one step and the same name. Uses the shipped configs if neither a config nor a
 * function is given. Throws RG_COMMAND_INVALID.
 */
export function configsOf(values: {
  readonly config?: string | undefined
  readonly function?: string | undefined
  readonly reward?: string | undefined
  readonly options?: object | undefined
}): ConfigSources {
  const { config, function: name, reward, options = {} } = values
  if (name === undefined) return { configs: [config ?? shippedConfigs()], inline: [] }
  if (reward !== undefined)
    throw misused('--function is the only reward; --reward chooses one of a --config: leave one of them out')
  return inlineReward(name, [{ name, function: name, options }], ([, , key, ...inner]) =>
    key === 'options' ? `--options ${pathText(inner)}`.trim() : `--function ${name}`,
  )
}

/** A reward with this name and these steps, as if from a config file. `placeOf` gives the place for a mistake in it. */
export const inlineReward = (
  name: string,
  steps: readonly unknown[],
  placeOf: (path: ConfigPath) => string,
): ConfigSources => ({
  configs: [],
  inline: [{ file: `${name}.json`, text: JSON.stringify({ steps }), placeOf }],
})

function readFunctionOptions(text: string): object {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw new BadValue(`must be JSON in quotes, e.g. '{"name": 1}', not ${text}: ${reasonOf(error)}`)
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value
  throw new BadValue(`must be an object, e.g. '{"name": 1}', not ${text}`)
}

/** The rm-configs folder of the package: beside src in a clone, beside dist in an installed package. */
export const shippedConfigs = (): string => packageFolder('rm-configs')

/** A folder that the package ships. Throws RG_COMMAND_INVALID if it was removed. */
export function packageFolder(name: string): string {
  const here = dirname(fileURLToPath(import.meta.url))
  const found = [`../../${name}`, `../../../${name}`]
    .map((path) => join(here, path))
    .find((path) => existsSync(path))
  if (!found) throw misused(`the ${name} folder of the package is missing`)
  return found
}

/** The reward with this name, or the only one there is. Throws RG_REWARD_UNKNOWN or RG_COMMAND_INVALID. */
export function rewardOf(gateway: Gateway, named: string | undefined): string {
  if (named) return gateway.reward(named).name
  const names = gateway.rewards().map(({ name }) => name)
  if (names.length === 1 && names[0]) return names[0]
  throw new GatewayError(
    'RG_COMMAND_INVALID',
    `the config has ${names.length} rewards (${names.join(', ')}): choose one with --reward`,
  )
}

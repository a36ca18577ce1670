import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { z } from 'zod'
import { GatewayError, type Problem } from '../../core/errors.ts'
import { hideSecrets, keepSecret } from '../../core/secrets.ts'
import { reasonOf } from '../../core/system-error.ts'
import { decideWires, wireLimits } from '../models/interface/decide-wires.ts'
import { type ModelConfig, modelConfig } from '../models/interface/model-config.ts'
import {
  type ConfigPath,
  type ConfigText,
  type Environment,
  type ParsedConfig,
  parseConfig,
} from './config-text.ts'
import { type GatewayConfig, type GatewaySettings, gatewayConfig } from './gateway-config.ts'
import { readShape } from './read-shape.ts'
import { globalName, type RewardConfig, rewardConfig, type StepConfig, stepConfig } from './reward-config.ts'
import { canonicalJson } from './version.ts'

/** A parsed rm-config. Invalid settings are omitted here and reported in `problems`. */
export interface ParsedReward {
  readonly name: string
  readonly config: ParsedConfig
  readonly settings: Partial<Omit<RewardConfig, 'steps' | 'models'>>
  /** In order; a step that is not a mapping is empty. */
  readonly steps: readonly Partial<StepConfig>[]
}

/** All configs, each checked alone. References between them are resolved later. */
export interface Configs {
  readonly gateway: GatewaySettings
  /** Global name -> model; null if its definition has mistakes. */
  readonly models: ReadonlyMap<string, ModelConfig | null>
  /** Names of sandboxes, also of those whose definition has mistakes. */
  readonly sandboxes: readonly string[]
  readonly rewards: readonly ParsedReward[]
  readonly problems: readonly Problem[]
}

const outerGateway = gatewayConfig.extend({ models: z.record(z.string(), z.unknown()).default({}) })
const outerReward = rewardConfig.extend({
  models: z.record(z.string(), z.unknown()).default({}),
  steps: z.array(z.unknown()).min(1, 'a list of at least one step').max(64),
})

const rmConfig = { name: 'an rm-config', schema: rewardConfig }
const gatewayFile = { name: 'gateway.yaml', schema: gatewayConfig }

/** Whether a file is a gateway.yaml, in any folder. Every other config is a reward. */
export const isGatewayFile = (file: string): boolean => /(?:^|[\\/])gateway\.(?:ya?ml|json)$/.test(file)

/** Parses gateway.yaml and rm-configs. Never throws: mistakes are in `problems`. */
export function readConfigs(texts: readonly ConfigText[], env: Environment): Configs {
  const problems: Problem[] = []
  const models = new ModelDefinitions(problems, env)
  const rewards: ParsedReward[] = []
  let gateway: GatewaySettings | null = null
  let sandboxes: readonly string[] = []
  for (const text of texts) {
    const config = parseConfig(text, env)
    problems.push(...config.problems)
    if (config.value === undefined) continue
    if (isGatewayFile(text.file)) {
      const read = readShape(outerGateway, config, config.value, [], rmConfig)
      problems.push(...read.problems)
      models.add(config, read.value.models ?? {})
      sandboxes = namesIn(config.value, 'sandboxes')
      if (gateway) problems.push({ path: text.file, message: 'is a second gateway file; there can be one' })
      else gateway = settingsOf(read.value as Partial<GatewayConfig>, text.file)
    } else {
      rewards.push(readReward(config, models, rewards, problems))
    }
  }
  gateway ??= settingsOf({}, 'gateway.yaml')
  const { secret_env: secret } = gateway.guard
  if (secret !== undefined) keepSecret(secret, env[secret])
  return { gateway, models: models.byName, sandboxes, rewards, problems }
}

/** The keys of a member of a config as it is written. */
function namesIn(written: unknown, member: string): readonly string[] {
  const value = (written as Readonly<Record<string, unknown>> | null)?.[member]
  return typeof value === 'object' && value !== null ? Object.keys(value) : []
}

function readReward(
  config: ParsedConfig,
  models: ModelDefinitions,
  others: readonly ParsedReward[],
  problems: Problem[],
): ParsedReward {
  const read = readShape(outerReward, config, config.value, [], gatewayFile)
  problems.push(...read.problems)
  const { models: inline = {}, steps: written = [], ...settings } = read.value
  models.add(config, inline)
  const steps = written.map((step, index) => {
    const { value, problems: mistakes } = readShape(stepConfig, config, step, ['steps', index])
    problems.push(...mistakes)
    return value
  })
  const name = settings.name ?? nameOf(config.file)
  if (!globalName.safeParse(name).success) {
    problems.push(config.problemAt([], `'${name}' cannot be a reward's name; add 'name:'`))
  }
  const other = others.find((reward) => reward.name === name)
  if (other)
    problems.push(config.problemAt(['name'], `${other.config.file} already defines the reward '${name}'`))
  return { name, config, settings, steps }
}

/** `rider` for rm-configs/rider.yaml. */
const nameOf = (file: string): string => file.replace(/^.*[\\/]/, '').replace(/\.(?:ya?ml|json)$/, '')

/** Settings that are missing because they were invalid get their defaults. */
function settingsOf(read: Partial<GatewayConfig>, file: string): GatewaySettings {
  const { models: _, $schema: __, ...settings } = { ...gatewayConfig.parse({}), ...read }
  const folder = dirname(file)
  const { functions, keys, trainers, record, queue } = settings
  const kept = Object.entries(keys).map(([name, { file, ...key }]) => [
    name,
    file === undefined ? key : { ...key, file: resolve(folder, file) },
  ])
  return {
    ...settings,
    keys: Object.fromEntries(kept),
    ...(record && { record: { ...record, folder: resolve(folder, record.folder) } }),
    ...(queue && { queue: { ...queue, folder: resolve(folder, queue.folder) } }),
    functions: { ...functions, folders: functions.folders.map((path) => resolve(folder, path)) },
    trainers: Object.fromEntries(
      Object.entries(trainers).map(([name, own]) => [name, { ...own, ...groundTruthFile(own, folder) }]),
    ),
  }
}

function groundTruthFile(own: object | undefined, folder: string): { ground_truth_file?: string } {
  const path = own && 'ground_truth_file' in own ? own.ground_truth_file : undefined
  return typeof path === 'string' ? { ground_truth_file: resolve(folder, path) } : {}
}

/** Collects model definitions. A name may be defined again only if the definition is the same. */
class ModelDefinitions {
  readonly byName = new Map<string, ModelConfig | null>()
  readonly #problems: Problem[]
  readonly #env: Environment
  readonly #first = new Map<string, { readonly file: string; readonly definition: string }>()

  constructor(problems: Problem[], env: Environment) {
    this.#problems = problems
    this.#env = env
  }

  add(config: ParsedConfig, definitions: Readonly<Record<string, unknown>>): void {
    for (const [name, definition] of Object.entries(definitions)) {
      const at: ConfigPath = ['models', name]
      const named = globalName.safeParse(name)
      if (!named.success) {
        this.#problems.push(config.problemAt(at, `the name must be ${named.error.issues[0]?.message}`, 'key'))
      }
      const { value, problems } = readShape(modelConfig, config, definition, at)
      const model = problems.length === 0 ? withAbsolutePaths(value as ModelConfig, config.file) : null
      this.#problems.push(...problems)
      if (model && model.instances.length === 0 && model.allow.length === 0) {
        const help = 'list their addresses, or say in allow which ones may be added'
        this.#problems.push(config.problemAt(at, `has no instances; ${help}`))
      }
      if (model && model.chat_template !== undefined && model.backend !== 'sglang') {
        const message = `is for the sglang backend: servers of backend ${model.backend} write conversations themselves`
        this.#problems.push(config.problemAt([...at, 'chat_template'], message))
      }
      for (const [path, message, key] of model ? backendMistakes(model, definition) : [])
        this.#problems.push(config.problemAt([...at, ...path], message, key))
      for (const [index, place] of (model?.instances ?? []).entries()) {
        const url = typeof place === 'string' ? place : place.url
        if (hideSecrets(url) !== url)
          this.#problems.push(
            config.problemAt(
              [...at, 'instances', index],
              'holds a secret, but metrics, logs and results show addresses; use api_key_env for the key',
            ),
          )
      }
      const { api_key_env: variable } = model ?? {}
      if (variable !== undefined) keepSecret(variable, this.#env[variable])
      if (variable !== undefined && !(Object.hasOwn(this.#env, variable) && this.#env[variable])) {
        const path = [...at, 'api_key_env']
        this.#problems.push(config.problemAt(path, `the environment variable ${variable} is not set`))
      }
      const text = canonicalJson(model)
      const first = this.#first.get(name)
      if (first && model && first.definition !== text) {
        this.#problems.push(
          config.problemAt(at, `${first.file} defines the model '${name}' differently`, 'key'),
        )
      }
      if (!first || !model) this.byName.set(name, model)
      if (!first) this.#first.set(name, { file: config.file, definition: text })
    }
  }
}

/** Settings that mean nothing to a service. */
const ofModels = [
  'model',
  'served_model_aliases',
  'sampling',
  'chat_template',
  'classify',
  'choose',
  'decide',
  'rewards',
  'max_tokens_in_flight',
  'batch',
  'balance',
  'max_prompt_tokens',
  'count_tokens',
  'on_long_prompt',
  'gpu_group',
  'lifecycle',
  'images',
  'guard',
] as const satisfies readonly (keyof ModelConfig)[]

type Mistake = readonly [path: ConfigPath, message: string, key?: 'key']

/** Settings that do not fit the backend. `written`: the model as the file has it. */
function backendMistakes(model: ModelConfig, written: unknown): readonly Mistake[] {
  const { backend, service, hedge, cache } = model
  if (backend !== 'service')
    return [
      ...(model.model === '' ? [[['model'], 'is missing'] as const] : []),
      ...(service ? [[['service'], "goes with 'backend: service'", 'key'] as const] : []),
      ...wireMistakes(model),
    ]
  if (!service) return [[['service'], 'is missing: say in service.path where requests are posted']]
  const needless = ofModels.filter((key) => Object.hasOwn(written as object, key))
  const repeats = 'sends the same request again: say service.idempotent: true if that has no other effect'
  return [
    ...needless.map((key): Mistake => [[key], `goes with models; a service has no use for it`, 'key']),
    ...(hedge.budget > 0 && !service.idempotent ? [[['hedge', 'budget'], repeats] as const] : []),
    ...(cache === 'always' && !service.idempotent
      ? [[['cache'], 'keeps answers of a service that is not idempotent'] as const]
      : []),
  ]
}

/** An API for decisions that the servers do not have, or that does not tell what is asked of it. */
function wireMistakes({ backend, decide: { wire, min_mass: least } }: ModelConfig): readonly Mistake[] {
  const { backends, mass } = wireLimits(wire)
  const wires = decideWires.filter((one) => wireLimits(one).backends.includes(backend))
  return [
    ...(backends.includes(backend)
      ? []
      : [[['decide', 'wire'], `servers of backend ${backend} have ${wires.join(', ')}`] as const]),
    ...(mass || least === undefined
      ? []
      : [[['decide', 'min_mass'], `replies of decide.wire ${wire} tell no mass`, 'key'] as const]),
  ]
}

const withAbsolutePaths = (model: ModelConfig, file: string): ModelConfig =>
  model.instances_file === undefined
    ? model
    : { ...model, instances_file: resolve(dirname(file), model.instances_file) }

const gatewayNames = ['gateway.yaml', 'gateway.yml', 'gateway.json']

/**
 * Reads config files and folders of them (.yaml, .yml and .json, without subfolders and JSON Schemas). Adds the gateway
 * file next to a reward's file. Throws RG_CONFIG_INVALID for missing files and empty folders.
 */
export function configTexts(paths: readonly string[]): ConfigText[] {
  const problems: Problem[] = []
  const files = paths.flatMap((path) => filesAt(path, problems))
  if (!files.some(isGatewayFile)) {
    const beside = files.map((file) => gatewayNames.map((name) => join(dirname(file), name)).find(existsSync))
    files.unshift(...beside.flatMap((file) => file ?? []))
  }
  const texts = [...new Set(files)].map((file) => ({ file, text: textOf(file, problems) }))
  if (problems.length > 0) {
    throw new GatewayError('RG_CONFIG_INVALID', 'a config cannot be read', { problems })
  }
  return texts
}

function filesAt(path: string, problems: Problem[]): string[] {
  try {
    if (!statSync(path).isDirectory()) return [path]
    const files = readdirSync(path)
      .filter((name) => /\.(?:ya?ml|json)$/.test(name) && !name.endsWith('.schema.json'))
      .sort()
    if (files.length === 0) problems.push({ path, message: 'holds no .yaml or .json files' })
    return files.map((name) => join(path, name))
  } catch (error) {
    problems.push({ path, message: reasonOf(error) })
    return []
  }
}

function textOf(file: string, problems: Problem[]): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    problems.push({ path: file, message: reasonOf(error) })
    return ''
  }
}

/** Collects the mistakes of one rm-config. */
export interface RewardReport {
  readonly problems: readonly Problem[]
  add(path: ConfigPath, message: string, key?: 'key'): void
  /** See ParsedConfig. */
  readonly fixable: ParsedConfig['fixable']
  otherReading: ParsedConfig['otherReading']
}

/** An empty report that places mistakes in the reward's text. */
export function reportOn({ config }: ParsedReward): RewardReport {
  const problems: Problem[] = []
  const { fixable, otherReading } = config
  return {
    problems,
    fixable,
    otherReading,
    add: (path, message, key) => problems.push(config.problemAt(path, message, key)),
  }
}

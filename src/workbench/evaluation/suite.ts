import { existsSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { z } from 'zod'
import { GatewayError, type Problem } from '../../core/errors.ts'
import { didYouMean } from '../../core/nearest-name.ts'
import type { Gateway } from '../../scoring/gateway/gateway.ts'
import { samplingConfig } from '../../scoring/models/interface/model-config.ts'
import { type ParsedConfig, parseConfig } from '../../scoring/plan/config-text.ts'
import { configTexts } from '../../scoring/plan/configs.ts'
import { readShape } from '../../scoring/plan/read-shape.ts'
import { globalName } from '../../scoring/plan/reward-config.ts'
import type { EvaluationSettings } from './evaluation.ts'

/** How a benchmark is evaluated. `mergedSettings` fills in what is absent. */
export const benchmarkSettings = z.strictObject({
  /** Answers for each row in one run. */
  n: z.int().min(1).max(1024).optional(),
  runs: z.int().min(1).max(1000).optional(),
  /** The k of pass@k and maj@k. Default: n. */
  k: z.int().min(1).max(1024).optional(),
  limit: z.int().min(1).optional(),
  shuffle_seed: z.int().min(0).max(0xffff_ffff).optional(),
  /** `none`: no seed is sent. */
  seed: z.union([z.int().min(0).max(0xffff_ffff), z.literal('none')], 'a whole number, or none').optional(),
  /** Sends a plain prompt as a user message. */
  chat: z.boolean().optional(),
  /** An answer with at least this reward is solved. */
  solved_at: z.number().optional(),
  ...samplingConfig.omit({ seed: true, logprobs: true }).shape,
})

const benchmarkConfig = benchmarkSettings.extend({
  /** Names the benchmark's files and its line in tables. */
  name: globalName,
  /** Rows without answers. The path is relative to the suite's file. */
  data: z.string().min(1),
  /** A reward of the configs, or ... */
  reward: z.string().min(1).optional(),
  /** ... a reward function whose score is the reward. */
  function: z.string().min(1).optional(),
  options: z.record(z.string(), z.unknown()).optional(),
})

/** A benchmark suite. */
const suiteConfig = z.strictObject({
  $schema: z.string().optional(),
  /** An rm-config or a folder of them, relative to the suite's file. Default: the command's `--config`. */
  config: z.string().min(1).optional(),
  /** For settings that a benchmark omits. */
  defaults: benchmarkSettings.prefault({}),
  benchmarks: z.array(benchmarkConfig).min(1),
})

/** The JSON Schema of a suite, for editors. */
export const suiteSchema = (): object => ({
  title: 'A benchmark suite of reward-gateway',
  ...z.toJSONSchema(suiteConfig, { io: 'input' }),
})

const outerSuite = suiteConfig.extend({
  benchmarks: z.array(z.unknown()).min(1, 'a suite needs at least one benchmark').max(1000),
})

/** A parsed suite. Its rewards are checked when the configs are open. */
export interface Suite {
  /** null: the suite names no config. */
  readonly config: string | null
  /** rm-configs for the benchmarks that name a function. Open them with the other configs. */
  readonly inline: readonly { readonly file: string; readonly text: string }[]
  /** True if a benchmark names a reward of the configs. */
  readonly usesConfigs: boolean
  /**
   * Throws RG_CONFIG_INVALID with every mistake and its place. Settings in `over` take precedence over the
   * suite's.
   */
  benchmarks(gateway: Gateway, over: BenchmarkSettings): readonly EvaluationSettings[]
}

/** Reads a suite. Throws RG_CONFIG_INVALID only if it cannot be parsed at all. */
export function readSuite(path: string, env: Readonly<Record<string, string | undefined>>): Suite {
  const text = configTexts([path]).find(({ file }) => file === path) ?? { file: path, text: '' }
  const config = parseConfig(text, env)
  if (config.value === undefined) throw invalid(config.problems)
  const outer = readShape(outerSuite, config, config.value, [])
  const problems = [...config.problems, ...outer.problems]
  const written = (outer.value.benchmarks ?? []).map((piece, at) => {
    const read = readShape(benchmarkConfig, config, piece, ['benchmarks', at])
    problems.push(...read.problems)
    return read.value
  })
  problems.push(...mistakesIn(config, written, dirname(path)))
  return {
    config: outer.value.config === undefined ? null : resolve(dirname(path), outer.value.config),
    inline: written.flatMap(({ name, function: called, options = {} }) =>
      name === undefined || called === undefined
        ? []
        : [{ file: `${inlineName(name)}.json`, text: oneStep(called, options) }],
    ),
    usesConfigs: written.some(({ reward }) => reward !== undefined),
    benchmarks(gateway, over) {
      const rewards = gateway.rewards().map(({ name }) => name)
      const unknown = written.flatMap(({ reward }, at) =>
        reward === undefined || rewards.includes(reward)
          ? []
          : [config.problemAt(['benchmarks', at, 'reward'], noReward(reward, rewards))],
      )
      const made = written.map(
        ({ name = '', data = '', reward, function: _called, options: _options, ...own }, place) => {
          const what = {
            name,
            place,
            data: data.startsWith('hf://') ? data : resolve(dirname(path), data),
            reward: reward ?? inlineName(name),
          }
          return mergedSettings(what, over, own, outer.value.defaults ?? {})
        },
      )
      const short = made.flatMap(({ k, n, runs }, at) =>
        k <= n * runs
          ? []
          : [config.problemAt(['benchmarks', at, 'k'], `is ${k}, but a row gets ${n * runs} answers`)],
      )
      const all = [...problems, ...unknown, ...short]
      if (all.length > 0) throw invalid(all)
      return made
    },
  }
}

type Written = readonly Partial<z.output<typeof benchmarkConfig>>[]

const noReward = (reward: string, rewards: readonly string[]): string =>
  `there is no reward '${reward}'${didYouMean(reward, rewards)}`

/** The reward's name for a benchmark that names a function. */
const inlineName = (benchmark: string): string => `suite.${benchmark}`

const oneStep = (called: string, options: object): string =>
  JSON.stringify({ steps: [{ name: called, function: called, options }] })

/** Mistakes that the schema cannot express. */
function mistakesIn(config: ParsedConfig, written: Written, folder: string): readonly Problem[] {
  return written.flatMap(({ name, data, reward, function: called }, at) => {
    const found: Problem[] = []
    const tell = (key: string, message: string) =>
      found.push(config.problemAt(['benchmarks', at, key], message))
    if (name !== undefined && written.findIndex((other) => other.name === name) < at)
      tell('name', `'${name}' is already the name of another benchmark`)
    if (data !== undefined && !existsSync(resolve(folder, data)))
      tell('data', `there is no file ${resolve(folder, data)}`)
    if ((reward === undefined) === (called === undefined)) tell('reward', 'give either reward or function')
    return found
  })
}

const invalid = (problems: readonly Problem[]): GatewayError =>
  new GatewayError(
    'RG_CONFIG_INVALID',
    `the suite has ${problems.length === 1 ? 'a mistake' : `${problems.length} mistakes`}`,
    { problems },
  )

export type BenchmarkSettings = z.output<typeof benchmarkSettings>

/**
 * Merges settings; earlier ones take precedence. The defaults are one greedy answer, or sampling at
 * temperature 1 if there are several.
 */
export function mergedSettings(
  what: Pick<EvaluationSettings, 'name' | 'place' | 'data' | 'reward'>,
  ...settings: readonly BenchmarkSettings[]
): EvaluationSettings {
  const merged: BenchmarkSettings = Object.assign({}, ...[...settings].reverse())
  const {
    n = 1,
    runs = 1,
    k = n,
    limit,
    shuffle_seed,
    seed = 0,
    chat = false,
    solved_at = 1,
    ...own
  } = merged
  return {
    ...what,
    n,
    runs,
    k,
    limit: limit ?? null,
    shuffleSeed: shuffle_seed ?? null,
    seed: seed === 'none' ? null : seed,
    chat,
    solvedAt: solved_at,
    sampling: {
      temperature: n * runs === 1 ? 0 : 1,
      max_tokens: 2048,
      ...own,
    } as EvaluationSettings['sampling'],
  }
}

import { existsSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { z } from 'zod'
import { GatewayError, type Problem } from '../errors.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { didYouMean } from '../nearest-name.ts'
import { configTexts } from '../plan/config-files.ts'
import { type ParsedConfig, parseConfig } from '../plan/config-text.ts'
import { readShape } from '../plan/read-shape.ts'
import { globalName } from '../plan/reward-config.ts'
import { type Benchmark, type BenchmarkSettings, benchmarkSettings, settled } from './benchmark-settings.ts'

const benchmarkConfig = benchmarkSettings.extend({
  /** Names its files and its line in tables. */
  name: globalName,
  /** Rows without answers; relative to the suite's file. */
  data: z.string().min(1),
  /** A reward of the configs. */
  reward: z.string().min(1),
})

/** A benchmark suite, as it is written. */
export const suiteConfig = z.strictObject({
  $schema: z.string().optional(),
  /** An rm-config or a folder of them, relative to the suite's file; absent: what the command says. */
  config: z.string().min(1).optional(),
  /** For benchmarks that say nothing else. */
  defaults: benchmarkSettings.prefault({}),
  benchmarks: z.array(benchmarkConfig).min(1),
})

const outerSuite = suiteConfig.extend({
  benchmarks: z.array(z.unknown()).min(1, 'a suite needs at least one benchmark').max(1000),
})

/** A suite's text, understood; what it says of rewards is checked when the configs are open. */
export interface Suite {
  /** null: it names none. */
  readonly config: string | null
  /** Throws RG_CONFIG_INVALID with every mistake, each with its place. `over`: settings that go before the suite's. */
  benchmarks(gateway: Gateway, over: BenchmarkSettings): readonly Benchmark[]
}

/** Reads a suite. Throws RG_CONFIG_INVALID only where it cannot be read at all. */
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
  problems.push(...doubles(config, written), ...missing(config, written, path))
  return {
    config: outer.value.config === undefined ? null : resolve(dirname(path), outer.value.config),
    benchmarks(gateway, over) {
      const rewards = gateway.rewards().map(({ name }) => name)
      const unknown = written.flatMap(({ reward }, at) =>
        reward === undefined || rewards.includes(reward)
          ? []
          : [config.problemAt(['benchmarks', at, 'reward'], noReward(reward, rewards))],
      )
      const made = written.map(({ name = '', data = '', reward = '', ...own }) =>
        settled({ name, data: resolve(dirname(path), data), reward }, over, own, outer.value.defaults ?? {}),
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

const doubles = (config: ParsedConfig, written: Written): readonly Problem[] =>
  written.flatMap(({ name }, at) =>
    name !== undefined && written.findIndex((other) => other.name === name) < at
      ? [config.problemAt(['benchmarks', at, 'name'], `'${name}' is the name of an earlier benchmark`)]
      : [],
  )

const missing = (config: ParsedConfig, written: Written, path: string): readonly Problem[] =>
  written.flatMap(({ data }, at) =>
    data === undefined || existsSync(resolve(dirname(path), data))
      ? []
      : [config.problemAt(['benchmarks', at, 'data'], `there is no file ${resolve(dirname(path), data)}`)],
  )

const invalid = (problems: readonly Problem[]): GatewayError =>
  new GatewayError(
    'RG_CONFIG_INVALID',
    `the suite has ${problems.length === 1 ? 'a mistake' : `${problems.length} mistakes`}`,
    { problems },
  )

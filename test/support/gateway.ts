import { readdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { Test } from 'tap'
import type { Outcome, Sample } from '../../src/core/sample/sample.ts'
import type { GatewayJob } from '../../src/scoring/gateway/gateway.ts'
import {
  type ObservedGateway,
  type ObservedOptions,
  openObservedGateway,
} from '../../src/serving/observed-gateway.ts'
import type { SimulatedServerOptions } from '../../src/simulator/options.ts'
import { type SimulatedServer, startSimulatedServer } from '../../src/simulator/server.ts'

/** A folder of reward functions as the compiler emits them: a process that compiles them itself takes half as long again to start. */
export const compiledFixtures = (name: string): string => join(import.meta.dirname, '../fixtures', name)

/** Functions for tests. */
export const fixtureFunctions = compiledFixtures('functions')
const fixtureNames = readdirSync(fixtureFunctions)
  .filter((file) => file.endsWith('.js'))
  .map((file) => basename(file, '.js'))

/**
 * A gateway over rewards given as objects, with the fixture functions where a config names one (or may, on disk): a process of their own takes
 * seconds to start. Closed with the test.
 */
export async function testGateway(
  t: Test,
  rewards: Readonly<Record<string, object>>,
  options: Partial<ObservedOptions> = {},
  more: NonNullable<ObservedOptions['inline']> = [],
): Promise<ObservedGateway> {
  const inline = Object.entries(rewards).map(([name, config]) => ({
    file: `${name}.json`,
    text: JSON.stringify(config),
  }))
  inline.push(...more)
  const onDisk = (options.configs?.length ?? 0) > 0
  const isFixture =
    onDisk || inline.some(({ text }) => fixtureNames.some((name) => text.includes(`"${name}"`)))
  const gateway = await openObservedGateway({
    configs: [],
    inline,
    functionFolders: isFixture ? [fixtureFunctions] : [],
    env: {},
    secret: 'test',
    ...options,
  })
  t.teardown(() => gateway.close(0))
  return gateway
}

/** Simulated servers of one model, and the model's config; ended with the test. */
export async function testModel(
  t: Test,
  count: number,
  options: SimulatedServerOptions = {},
  config: object = {},
): Promise<{ servers: readonly SimulatedServer[]; config: object }> {
  const servers = await Promise.all(
    Array.from({ length: count }, () => startSimulatedServer({ model: 'judge', ...options })),
  )
  t.teardown(() => Promise.all(servers.map((server) => server.close())))
  return {
    servers,
    config: {
      model: 'judge',
      instances: servers.map(({ url }) => url),
      ...config,
    },
  }
}

/** A sample with this response; the rest is empty. */
export const sampleOf = (response: string, parts: Partial<Sample> = {}): Sample => ({
  id: `id-${response.slice(0, 20)}`,
  prompt: 'question',
  response,
  groundTruth: null,
  rmPrompts: {},
  extraInfo: {},
  ...parts,
})

/** The outcomes of these rows. */
export async function outcomesOf(
  gateway: Pick<Pick<ObservedGateway, 'score'>, 'score'>,
  reward: string,
  rows: GatewayJob['rows'],
  job: Partial<GatewayJob> = {},
): Promise<readonly Outcome[]> {
  const { outcomes } = await gateway.score({ reward, rows, signal: new AbortController().signal, ...job })
  return outcomes
}

/** The reward, or the kind of failure that left none. */
export const resultOf = (outcome: Outcome | undefined): number | string | undefined =>
  outcome?.valid ? outcome.reward : outcome?.failure.kind

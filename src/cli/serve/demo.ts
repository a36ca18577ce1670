import { deviation, mean } from '../../core/statistics/summary.ts'
import { type ExampleRollout, exampleRollouts } from '../../simulator/word-problems.ts'
import type { NativeResult } from '../../trainers/native-result.ts'
import { defineCommand, type Io } from '../command.ts'
import { shippedConfigs } from '../gateway.ts'
import { flag } from '../options.ts'
import { textTable } from '../output.ts'
import type { SimulatedServers } from './simulated-servers.ts'

const reward = 'demo'

/** Runs entirely in this process. Exit code 0. */
export const command = defineCommand({
  name: 'demo',
  summary: 'scores example rollouts with simulated judges and shows what happened',
  synopsis: [''],
  about: `Starts three simulated model servers and the gateway, scores ${exampleRollouts().length} example answers through POST /v1/score with
a rule, a gate and two judges, and shows the results.`,
  options: { keep: flag('keeps everything running until Ctrl-C') },
  async run({ values }, io) {
    const { openServer } = await import('./server.ts')
    const { startSimulatedServers } = await import('./simulated-servers.ts')
    const servers = await startSimulatedServers({ latencyMedianMs: 20 })
    const server = await openServer({
      configs: [shippedConfigs()],
      inline: [],
      functionFolders: [],
      env: { ...io.env, ...servers.env },
      host: '127.0.0.1',
      port: 0,
      logLevel: 'warn',
      simulates: true,
    })
    try {
      await show(server.url, servers, io)
      if (values.keep) await untilStopped(io)
    } finally {
      await server.close()
      await servers.close()
    }
    return 0
  },
})

async function show(url: string, servers: SimulatedServers, io: Io): Promise<void> {
  const samples = exampleRollouts()
  const started = performance.now()
  const [results, again] = await Promise.all([post(url, samples), post(url, samples)])
  const ms = Math.round(performance.now() - started)
  const metrics = await (await fetch(`${url}/metrics`)).text()
  const write = (text: string) => io.stdout.write(`${text}\n\n`)
  write(`POST ${url}/v1/score  reward '${reward}': ${samples.length} samples in ${ms} ms`)
  write(sampleTable(samples, results))
  write(groupTable(samples, results))
  write(countsTable(results, metrics, reward))
  write(
    `The request was sent twice at once, as by a trainer that retries: the responses are ${same(results, again)}.`,
  )
  write(serverTable(servers.stats()))
  write(`page: ${url}/ui/    API: ${url}/docs    metrics: ${url}/metrics`)
}

async function post(url: string, samples: readonly ExampleRollout[]): Promise<NativeResult[]> {
  const response = await fetch(`${url}/v1/score`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ reward, samples }),
  })
  if (!response.ok) throw new Error(`POST /v1/score answered ${response.status}: ${await response.text()}`)
  return ((await response.json()) as { results: NativeResult[] }).results
}

const same = (one: unknown, other: unknown): string =>
  JSON.stringify(one) === JSON.stringify(other) ? 'equal' : 'different'

function untilStopped(io: Io): Promise<void> {
  io.stdout.write('Everything keeps running until Ctrl-C.\n')
  if (io.signal.aborted) return Promise.resolve()
  return new Promise((resolve) => io.signal.addEventListener('abort', () => resolve(), { once: true }))
}

/** One row per sample: its reward or its failure, and each term. */
export function sampleTable(samples: readonly ExampleRollout[], results: readonly NativeResult[]): string {
  const names = Object.keys(results[0]?.terms ?? {})
  const rows = results.map((result, index) => [
    samples[index]?.group_id ?? '',
    samples[index]?.extra_info.kind ?? '',
    result.reward === null ? `invalid: ${result.failure?.kind}` : number(result.reward),
    ...names.map((name) => termText(result, name)),
  ])
  const columns = [{ title: 'group' }, { title: 'answer' }, { title: 'reward', right: true }]
  return textTable([...columns, ...names.map((title) => ({ title, right: true }))], rows)
}

function termText(result: NativeResult, name: string): string {
  const term = result.terms[name]
  if (!term) return ''
  return term.score === null ? (term.why ?? term.status) : number(term.score)
}

/** Mean and standard deviation of the rewards by kind of answer, then by group. */
export function groupTable(samples: readonly ExampleRollout[], results: readonly NativeResult[]): string {
  const rewards = (pick: (sample: ExampleRollout) => string): Map<string, number[]> => {
    const found = new Map<string, number[]>()
    for (const [index, { reward }] of results.entries()) {
      const sample = samples[index]
      if (!sample || reward === null) continue
      found.set(pick(sample), [...(found.get(pick(sample)) ?? []), reward])
    }
    return found
  }
  const row = ([name, values]: [string, number[]]) => [
    name,
    String(values.length),
    number(mean(values)),
    number(deviation(values)),
  ]
  const columns = [
    { title: '' },
    { title: 'valid', right: true },
    { title: 'mean', right: true },
    { title: 'spread', right: true },
  ]
  return textTable(
    columns,
    [...rewards(({ extra_info }) => extra_info.kind), ...rewards(({ group_id }) => group_id)].map(row),
  )
}

/** Counts of judge questions: asked, saved by the gate, coalesced, answered from the cache. */
export function countsTable(results: readonly NativeResult[], metrics: string, reward: string): string {
  const sum = (name: string, label: string): number =>
    metrics
      .split('\n')
      .filter((line) => line.startsWith(`reward_gateway_${name}{`) && line.includes(label))
      .reduce((total, line) => total + Number(line.slice(line.lastIndexOf(' ') + 1)), 0)
  const valid = results.filter((result) => result.valid).length
  return [
    `samples: ${valid} with a reward, ${results.length - valid} invalid`,
    `judge questions: ${sum('questions_total', 'source="call"')} asked, ${sum('gated_total', `reward="${reward}"`)} saved by the gate, ` +
      `${sum('questions_total', 'source="joined"')} coalesced, ${sum('questions_total', 'source="cache"')} from the cache`,
  ].join('\n')
}

/** The work of each simulated server. */
export function serverTable(servers: ReturnType<SimulatedServers['stats']>): string {
  const rows = servers.map(({ model, url, stats }) => [
    model,
    url,
    String(stats.sequences.finished),
    String(stats.peakRunning),
    String(stats.promptTokens),
    String(Math.round(stats.busyMs)),
  ])
  const titles = ['served', 'peak', 'prompt tokens', 'busy ms'].map((title) => ({ title, right: true }))
  return textTable([{ title: 'model' }, { title: 'server' }, ...titles], rows)
}

const number = (value: number): string => String(Math.round(value * 1000) / 1000)

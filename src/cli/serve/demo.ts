import { type ExampleRollout, exampleRollouts } from '../../simulator/word-problems.ts'
import type { NativeResult } from '../../trainers/native-result.ts'
import { flag, parsed } from '../arguments.ts'
import type { Command, Io } from '../command.ts'
import { shippedConfigs } from '../gateway.ts'
import { countsTable, groupTable, sampleTable, serverTable } from './demo-tables.ts'
import { type Judges, startJudges } from './judges.ts'
import { openServer } from './server.ts'

const usage = `reward-gateway demo [--keep]

Starts three simulated model servers and the gateway, scores ${exampleRollouts().length} example answers through POST /v1/score with a
rule, a gate and two judges, and shows what came back. --keep leaves it all up until Ctrl-C.`

const reward = 'demo'

/** Exit code 0; all of it runs in this process. */
export const command: Command = {
  summary: 'scores example rollouts with simulated judges and shows what happened',
  usage,
  async run(argv, io) {
    const { values } = parsed(argv, { keep: flag })
    const judges = await startJudges({ latencyMedianMs: 20 })
    const server = await openServer({
      configs: [shippedConfigs()],
      inline: [],
      functionFolders: [],
      env: { ...io.env, ...judges.env },
      host: '127.0.0.1',
      port: 0,
      logLevel: 'warn',
      simulates: true,
    })
    try {
      await show(server.url, judges, io)
      if (values.keep) await left(io)
    } finally {
      await server.close()
      await judges.close()
    }
    return 0
  },
}

async function show(url: string, judges: Judges, io: Io): Promise<void> {
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
    `The request was sent twice at once, as by a trainer that retries: the answers are ${same(results, again)}.`,
  )
  write(serverTable(judges.stats()))
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

function left(io: Io): Promise<void> {
  io.stdout.write('Everything stays up until Ctrl-C.\n')
  if (io.signal.aborted) return Promise.resolve()
  return new Promise((resolve) => io.signal.addEventListener('abort', () => resolve(), { once: true }))
}

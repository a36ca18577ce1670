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
a rule, a gate and two judges, and shows the results. Then one judge fails, and four more answers are scored.`,
  example: '--keep',
  options: {
    all: flag('shows every answer, every problem and what each server did'),
    keep: flag('keeps everything running until Ctrl-C'),
  },
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
      logLevel: 'silent',
      simulates: true,
    })
    try {
      await show(server.url, servers, values.all, io)
      if (values.keep) await untilStopped(server.url, io)
      else io.stdout.write(`${nextSteps(io)}\n`)
    } finally {
      await server.close()
      await servers.close()
    }
    return 0
  },
})

async function show(url: string, servers: SimulatedServers, all: boolean, io: Io): Promise<void> {
  const write = (text: string) => io.stdout.write(`${text}\n\n`)
  const samples = exampleRollouts()
  const started = performance.now()
  const results = await post(url, samples)
  const seconds = ((performance.now() - started) / 1000).toFixed(1)
  const asked = await questionsAsked(url)
  const valid = results.filter(({ valid }) => valid).length
  write(
    `Sent ${samples.length} answers to ${samples.length / 4} word problems to POST /v1/score: ${valid} rewards in ${seconds} s.\n` +
      'The rule gives 1 for the right number after ####, 0.8 for it elsewhere, and 0.1 for a wrong one after ####.\n' +
      'Two judges are asked only if the rule gives 1 (a gate).',
  )
  const example = samples.slice(0, 4)
  const means = rewardsBy(samples, results, ({ extra_info }) => extra_info.kind)
  if (all) {
    write(answerTable(samples, results, ['group', samples.map(({ group_id }) => group_id)]))
    write(spreadTable(new Map([...means, ...rewardsBy(samples, results, ({ group_id }) => group_id)])))
  } else {
    write(`Problem 1 of 40: ${example[0]?.prompt[0]?.content.split(' Think')[0]}`)
    const column = example.map(({ extra_info }) => number(mean(means.get(extra_info.kind) ?? [])))
    write(
      `${answerTable(example, results, ['mean of 40', column])}\n${formulaOf(results[0])}. "gate": not asked.`,
    )
  }
  const again = await post(url, samples)
  const more = (await questionsAsked(url)) - asked
  write(
    `Judges were asked ${asked} questions instead of ${2 * samples.length}: the gate saved the others. The same request again,\n` +
      `as from a trainer that retries, asked ${more} more, and the responses are ${same(results, again)}.`,
  )
  servers.fail('judge-b')
  const reworded = example.map((sample) => ({ ...sample, response: `Let us see. ${sample.response}` }))
  const failed = await post(url, reworded)
  servers.recover()
  write(
    `Now judge-b answers 500 to every call. Four more answers:\n${outcomeTable(reworded, failed)}\n` +
      'A failed judge costs only the answers that needed it, and is never a 0.',
  )
  if (all) write(serverTable(servers.stats()))
}

/** What to do after the demo, as commands of the way in which it was started. */
function nextSteps({ env }: Io): string {
  const again = env.npm_lifecycle_event === 'demo' ? 'npm run demo --' : 'reward-gateway demo'
  return textLines('Next:', [
    [`${again} --keep`, 'leaves it running: watch samples at /ui, and read the API at /docs'],
    [`${again} --all`, 'shows every answer'],
    [
      `${env.npm_lifecycle_event === 'demo' ? 'npx ' : ''}reward-gateway init my-rewards`,
      'a project with a rule and a judge of your own (docs/quickstart.md)',
    ],
  ])
}

function textLines(title: string, rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(...rows.map(([left]) => left.length))
  return [title, ...rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`)].join('\n')
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

function untilStopped(url: string, io: Io): Promise<void> {
  io.stdout.write(`page: ${url}/ui/    API: ${url}/docs    metrics: ${url}/metrics\n`)
  io.stdout.write('Everything keeps running until Ctrl-C.\n')
  if (io.signal.aborted) return Promise.resolve()
  return new Promise((resolve) => io.signal.addEventListener('abort', () => resolve(), { once: true }))
}

/** The calls that the gateway made to judges so far. */
async function questionsAsked(url: string): Promise<number> {
  const metrics = await (await fetch(`${url}/metrics`)).text()
  return metrics
    .split('\n')
    .filter((line) => /^reward_gateway_questions_total\{[^}]*source="call"/.test(line))
    .reduce((total, line) => total + Number(line.slice(line.lastIndexOf(' ') + 1)), 0)
}

/** One row per sample: the end of its answer, each term, its reward or its failure, and one more column. */
function answerTable(
  samples: readonly ExampleRollout[],
  results: readonly NativeResult[],
  [title, column]: readonly [string, readonly string[]],
): string {
  const terms = Object.keys(results[0]?.terms ?? {})
  const rows = samples.map(({ extra_info, response }, index) => {
    const result = results[index]
    const cells = result ? [...terms.map((name) => termText(result, name)), rewardText(result)] : []
    return [extra_info.kind, endOf(response), ...cells, column[index] ?? '']
  })
  const numbers = [...terms, 'reward', title].map((title) => ({ title, right: true }))
  return textTable([{ title: 'answer' }, { title: 'text' }, ...numbers], rows)
}

const shownCharacters = 36

/** The end of a response in one line. */
function endOf(response: string): string {
  const line = response.replaceAll('\n', ' / ')
  return line.length > shownCharacters ? `...${line.slice(3 - shownCharacters)}` : line
}

function rewardText({ reward, failure, terms }: NativeResult): string {
  if (reward !== null) return number(reward)
  const term = Object.values(terms).find((term) => term.failure !== null)
  return `none, ${failure?.kind}: ${term?.failure?.detail ?? failure?.detail}`
}

function termText({ terms }: NativeResult, name: string): string {
  const term = terms[name]
  if (!term) return ''
  return term.score === null ? (term.why ?? term.status) : number(term.score)
}

/** How a valid reward is made of its terms, e.g. `reward = rule + 0.3 x quality`. */
function formulaOf(result: NativeResult | undefined): string {
  const terms = Object.entries(result?.terms ?? {})
  const sum = terms.map(([name, { weight }]) => (weight === 1 ? name : `${weight} x ${name}`)).join(' + ')
  return `reward = ${sum}`
}

/** The rewards of the samples, by what `pick` returns. */
function rewardsBy(
  samples: readonly ExampleRollout[],
  results: readonly NativeResult[],
  pick: (sample: ExampleRollout) => string,
): Map<string, number[]> {
  const found = new Map<string, number[]>()
  for (const [index, sample] of samples.entries()) {
    const reward = results[index]?.reward ?? null
    if (reward !== null) found.set(pick(sample), [...(found.get(pick(sample)) ?? []), reward])
  }
  return found
}

function spreadTable(rewards: ReadonlyMap<string, readonly number[]>): string {
  const numbers = ['rewards', 'mean', 'deviation'].map((title) => ({ title, right: true }))
  const rows = [...rewards].map(([name, values]) => [
    name,
    String(values.length),
    number(mean(values)),
    number(deviation(values)),
  ])
  return textTable([{ title: '' }, ...numbers], rows)
}

/** Each answer with its reward, or with the reason why it has none. */
const outcomeTable = (samples: readonly ExampleRollout[], results: readonly NativeResult[]): string =>
  textTable(
    [{ title: 'answer' }, { title: 'reward' }],
    results.map((result, index) => [samples[index]?.extra_info.kind ?? '', rewardText(result)]),
  )

/** The work of each simulated server. */
function serverTable(servers: ReturnType<SimulatedServers['stats']>): string {
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

/**
 * What a judge's server costs that hangs while its /health answers 200: 1,024 rows of about 52 KB (log-normal), a rule and two
 * judges of four and two servers that take 1.5 s in the median; one of the four hangs for `--hang-s` seconds from the third
 * second on. Everything has its default. Says when the last reward came with and without it, how soon the server was suspect,
 * and how soon it was back. Ends with 1 where a row has no reward.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { startGateway, startMeasured } from './measured-process.ts'
import { prose } from './prose.ts'

const { values } = parseArgs({
  options: {
    rows: { type: 'string', default: '1024' },
    'hang-s': { type: 'string', default: '120' },
    seed: { type: 'string', default: '1' },
  },
})
const rows = Number(values.rows)
const hangMs = Number(values['hang-s']) * 1000
const rowsOfRequest = 64
const [gatewayPort, judgePort, otherPort] = [18_720, 18_730, 18_740]
const at = (port: number) => `http://127.0.0.1:${port}`
const after = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))

const folder = mkdtempSync(join(tmpdir(), 'reward-gateway-hang-'))
process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
const write = (name: string, config: object) =>
  writeFileSync(join(folder, `${name}.yaml`), JSON.stringify(config))
const instances = (port: number, count: number) =>
  Array.from({ length: count }, (_, index) => at(port + index))
write('gateway', {
  keys: { all: { env: 'HANG_KEY', scopes: ['score', 'read', 'admin'] } },
  models: {
    judge: { model: 'judge', instances: instances(judgePort, 4) },
    other: { model: 'judge', instances: instances(otherPort, 2) },
  },
})
write('reward', {
  steps: [
    { name: 'rule', function: 'numeric-match' },
    { name: 'careful', function: 'yes-no-judge', model: 'judge' },
    { name: 'second', function: 'yes-no-judge', model: 'other' },
  ],
})
const key = 'a-key-of-this-benchmark'
const headers = { 'content-type': 'application/json', authorization: `Bearer ${key}` }

const simulate = (port: number, count: number) =>
  startMeasured(
    [
      ...['node', 'dist/src/cli/main.js', 'simulate', '--port', String(port), '--count', String(count)],
      ...['--model', 'judge', '--policy', 'constant', '--constant', '1', '--control', '--seed', values.seed],
      ...['--latency-median-ms', '1500', '--latency-sigma', '0.6'],
    ],
    port,
    '/health',
  )
const judges = [await simulate(judgePort, 4), await simulate(otherPort, 2)]
const gateway = await startGateway(folder, gatewayPort, { HANG_KEY: key })

/** Lengths are log-normal about 52 KB; every run asks something new, so that nothing is kept. */
function bodies(run: string): readonly string[] {
  let state = Number(values.seed)
  const uniform = () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    return (state + 0.5) / 2 ** 32
  }
  const length = () => {
    const normal = Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform())
    return Math.min(120_000, Math.round(45_000 * Math.exp(0.5 * normal)))
  }
  const all = Array.from({ length: rows }, (_, row) => ({
    prompt: `What is 2 + 3? (${run} ${row})`,
    response: `${prose(length())}\n#### ${row % 7}`,
    ground_truth: '5',
  }))
  return Array.from({ length: Math.ceil(rows / rowsOfRequest) }, (_, index) =>
    JSON.stringify({
      reward: 'reward',
      samples: all.slice(index * rowsOfRequest, (index + 1) * rowsOfRequest),
    }),
  )
}

/** Seconds until the last reward, and rows without one. */
async function scored(run: string): Promise<{ seconds: number; invalid: number }> {
  const began = performance.now()
  const invalid = await Promise.all(
    bodies(run).map(async (body) => {
      const reply = await fetch(`${gateway.url}/v1/score`, { method: 'POST', headers, body })
      if (!reply.ok) throw new Error(`${reply.status} ${await reply.text()}`)
      const { results } = (await reply.json()) as { results: readonly { reward: number | null }[] }
      return results.filter(({ reward }) => reward === null).length
    }),
  )
  return { seconds: (performance.now() - began) / 1000, invalid: invalid.reduce((a, b) => a + b, 0) }
}

async function stateOf(address: string): Promise<string> {
  const reply = await fetch(`${gateway.url}/admin/models/judge`, { headers })
  const { instances } = (await reply.json()) as { instances: readonly { address: string; state: string }[] }
  return instances.find((one) => one.address === address)?.state ?? 'gone'
}

/** Seconds until the state is the wanted one; null: not within the limit. */
async function becomes(wanted: string, limitMs: number): Promise<number | null> {
  const began = performance.now()
  while (performance.now() - began < limitMs) {
    if ((await stateOf(at(judgePort))) === wanted) return (performance.now() - began) / 1000
    await after(50)
  }
  return null
}

const say = (line: string) => process.stdout.write(`${line}\n`)
const told = (seconds: number | null) => (seconds === null ? 'never' : `${seconds.toFixed(1)} s`)
await scored('warm')
const well = await scored('well')
say(`well:    last reward after ${well.seconds.toFixed(1)} s, ${well.invalid} rows without one`)
const running = scored('ill')
await after(3000)
const fault = { faults: [{ kind: 'hang', forMs: hangMs, recovery: 'drop' }] }
await fetch(`${at(judgePort)}/simulate/faults`, { method: 'POST', body: JSON.stringify(fault) })
const hung = performance.now()
const suspect = await becomes('suspect', hangMs)
const ill = await running
say(`hanging: last reward after ${ill.seconds.toFixed(1)} s, ${ill.invalid} rows without one`)
say(`suspect: ${told(suspect)} after it began to hang`)
await after(Math.max(0, hangMs - (performance.now() - hung)))
say(`back:    ${told(await becomes('ready', 60_000))} after it recovered`)
if (ill.invalid + well.invalid > 0) process.exitCode = 1
await gateway.stop()
for (const judge of judges) await judge.stop()

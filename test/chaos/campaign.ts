/**
 * A seeded campaign: a scripted trainer asks the gateway through every request form while faults strike between all parts, and
 * after each run the invariants of docs/reliability.md must hold. `--from S --runs 1` runs one seed again.
 */
import { parseArgs } from 'node:util'
import { type RunReport, rolloutsOfRun, run } from './run.ts'
import { endsChildren, openStage } from './stage.ts'

const { values } = parseArgs({
  options: {
    from: { type: 'string', default: '1' },
    runs: { type: 'string', default: '2000' },
    lanes: { type: 'string', default: '2' },
    /** Runs that share a gateway, so that one run's breakers and caches meet the next one. */
    block: { type: 'string', default: '50' },
    toxiproxy: { type: 'string', default: '' },
    port: { type: 'string', default: '18100' },
    verbose: { type: 'boolean', default: false },
  },
})
const [from, runs, lanes, blockSize, firstPort] = [
  values.from,
  values.runs,
  values.lanes,
  values.block,
  values.port,
].map(Number) as [number, number, number, number, number]
if (!values.toxiproxy)
  process.stderr.write('without --toxiproxy PATH connections are not spoilt: servers are\n')

endsChildren()

const reports: RunReport[] = []
const failures: string[] = []
let peakRss = 0
let mostParked = 0
let next = from

await Promise.all(Array.from({ length: lanes }, (_, lane) => worker(firstPort + lane * 20)))

const tries = reports.flatMap((report) => report.tries)
const end = (name: string) => tries.filter((one) => one.end === name).length
const slowest = Math.max(...tries.map(({ ms }) => ms))
const counts = new Map<string, number>()
for (const { weather } of reports)
  for (const trouble of weather) {
    const kind = trouble
      .replace(/^\d+ ms: (?:server|server-)?[ -]?\d? ?/, '')
      .split(' ')
      .slice(0, 2)
      .join(' ')
    counts.set(kind, (counts.get(kind) ?? 0) + 1)
  }
// In a long campaign some judge is away while it is asked.
if (runs >= 500 && mostParked === 0) tell('no question was ever parked')
process.stdout.write(
  `${JSON.stringify(
    {
      runs: reports.length,
      seeds: [from, from + runs - 1],
      rows: reports.reduce((sum, { rows }) => sum + rows, 0),
      requests: { answered: end('answered'), refused: end('refused'), lost: end('lost') },
      slowestMs: Math.round(slowest),
      peakRssMib: Math.round(peakRss),
      mostParked,
      violations: failures.length,
      troubles: Object.fromEntries([...counts].sort(([, a], [, b]) => b - a)),
    },
    null,
    1,
  )}\n`,
)
if (failures.length > 0) {
  process.stdout.write(`${failures.join('\n')}\n`)
  process.exitCode = 1
}

/** At once, since a campaign is long. */
function tell(failure: string): void {
  failures.push(failure)
  process.stderr.write(`${failure}\n`)
}

async function worker(port: number): Promise<void> {
  while (next < from + runs) {
    const first = next
    const end = Math.min(first + blockSize, from + runs)
    next = end
    await block(first, end, port)
    process.stderr.write(`${new Date().toISOString()} seeds ${first} to ${end - 1} done\n`)
  }
}

async function block(first: number, end: number, port: number): Promise<void> {
  const seeds = Array.from({ length: end - first }, (_, index) => first + index)
  // Every other block has the models' settings that ship.
  const isAsShipped = Math.floor(first / blockSize) % 2 === 1
  const stage = await openStage(port, seeds.flatMap(rolloutsOfRun), values.toxiproxy, isAsShipped)
  const { gateway } = stage
  let asked = 0
  for (const seed of seeds) {
    const report = await run(seed, stage, stage.origin)
    reports.push(report)
    asked += report.tries.length * report.rows
    if (values.verbose) process.stderr.write(`${JSON.stringify(report)}\n`)
    for (const violation of report.violations) {
      tell(
        `seed ${seed}, ${report.form}, [${report.weather.join('; ')}]: ${violation}\n  again: --from ${seed} --runs 1, or with what came before it: --from ${first} --runs ${seed - first + 1} --block ${blockSize}`,
      )
    }
    if (gateway.ended() !== null) return void (await stage.close())
  }
  // Invariant 4: two judges a row, and what the budgets allow beyond; a budget of 20 % starts with a reserve.
  const calls = await gateway.metric('reward_gateway_upstream_duration_seconds_count')
  if (calls > asked * 2 * 1.25 + 100)
    tell(`seeds ${first} to ${end - 1}: ${calls} calls for at most ${asked * 2} questions`)
  peakRss = Math.max(peakRss, gateway.rssMib())
  mostParked = Math.max(mostParked, stage.parked)
  const code = await stage.close()
  if (code !== 0) tell(`seeds ${first} to ${end - 1}: SIGTERM ended the gateway with ${code}`)
}

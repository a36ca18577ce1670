/**
 * Steps of training in real time: two runs, simulated judges, two replicas behind a balancer, and every event that a day brings. The
 * truth of each row is known. Prints a table of what must hold for each step (docs/reliability.md), and ends with 1 where something
 * does not.
 */
import { parseArgs } from 'node:util'
import { endsChildren } from '../chaos/stage.ts'
import { atMost, tableOf, told, type Verdict } from './bounds.ts'
import { warmingRows } from './load.ts'
import { leftInFlight, stillAlive } from './measures.ts'
import { openStage } from './stage.ts'
import { playStep } from './step.ts'
import { Trainer } from './trainer.ts'

const { values } = parseArgs({
  options: {
    /** A part that fits into a minute on two cores; judges are eight times as fast. */
    short: { type: 'boolean', default: false },
    /** One after the other. The heap is judged from the second on. */
    steps: { type: 'string', default: '1' },
    'step-seconds': { type: 'string' },
    /** Of run A; run B has a quarter as many. */
    rows: { type: 'string' },
    /** 1 % of the responses have 128k tokens. */
    long: { type: 'boolean', default: false },
    /** Without events. */
    calm: { type: 'boolean', default: false },
    /** Leaves `max_in_flight` at its default, which is more than a server has places. */
    'default-limits': { type: 'boolean', default: false },
    'judge-speed': { type: 'string' },
    seed: { type: 'string', default: '1' },
    port: { type: 'string', default: '18500' },
  },
})
const stepMs = 1000 * Number(values['step-seconds'] ?? (values.short ? 30 : 600))
const rows = Number(values.rows ?? (values.short ? 480 : 8192))
const judgeSpeed = Number(values['judge-speed'] ?? (values.short ? 8 : 1))
const [seed, steps, port] = [values.seed, values.steps, values.port].map(Number) as [number, number, number]
const { long: isLong, calm: isCalm } = values
const warmingCount = values.short ? 48 : 240
const mib = 2 ** 20

endsChildren()
const print = (line: string) => void process.stdout.write(`${line}\n`)
const stage = await openStage({ port, seed, judgeSpeed, knowsPlaces: !values['default-limits'] })
const warming = new Trainer(stage, stage.time.now)
await warming.learn()
await Promise.all(warmingRows(seed, warmingCount).map((row) => warming.score(row)))
await warming.close()

const failed: Verdict[] = []
const heaps: number[] = []
const judge = (verdicts: readonly Verdict[]) => {
  print(tableOf(verdicts))
  failed.push(...verdicts.filter(({ holds }) => holds === false))
}
for (let step = 0; step < steps; step++) {
  const played = await playStep(stage, {
    seed: seed + step,
    rows,
    stepMs,
    isLong,
    isCalm,
    isPart: values.short,
  })
  print(
    `step ${step + 1} of ${steps}: seed ${seed + step}, ${played.rows} rows in ${stepMs / 1000} s, judges ${judgeSpeed} times as fast${isLong ? ', 1 % of run A with 128k tokens' : ''}${isCalm ? ', without events' : ''}`,
  )
  judge(played.verdicts)
  print(`\n${played.more}\n`)
  // What the page and the metrics show of the step is written once a second.
  await stage.time.pause(1500)
  heaps.push(Math.max(...(await Promise.all(stage.replicas.map((replica) => replica.heapAtRest())))) / mib)
}
const left = await leftInFlight(stage)
const children = stage.replicas.flatMap((replica) => replica.descendants())
const codes = await stage.close()
const badly = codes.filter((code) => code !== 0).length
const [first = Number.NaN] = heaps
const most = Math.max(...heaps.slice(1), first)
const growth = atMost(
  'heap at rest after a step, over the one after the first',
  most / first,
  1.1,
  ' times',
  `${heaps.map(Math.round).join(', ')} MiB`,
)
judge([
  atMost('left in flight afterwards', left, 0, ''),
  atMost('replicas that SIGTERM did not end well', badly, 0, ''),
  atMost('child processes left after that', await stillAlive(children), 0, ''),
  // A first step fills caches.
  steps > 1 ? growth : told(growth),
])
print(
  failed.length === 0 ? 'all holds' : `${failed.length} fail: ${failed.map(({ what }) => what).join('; ')}`,
)
process.exit(failed.length === 0 ? 0 : 1)

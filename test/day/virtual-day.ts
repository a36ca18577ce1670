/**
 * A day of training in virtual time: 144 steps of ten minutes in this process, as fast as it goes. Two replicas, their judges' servers and
 * the trainer talk over sockets, and all their timers belong to one clock. Prints of each line of a step's table the worst step, and what
 * is left after the day. It plays what runs on the main thread (virtual-stage.ts); `npm run day` plays the rest.
 */
import { parseArgs } from 'node:util'
import { VirtualTime } from '../support/virtual-time.ts'
import { atMost, tableOf, told, type Verdict, worstOf } from './bounds.ts'
import { leftInFlight } from './measures.ts'
import { playStep } from './step.ts'
import { openVirtualStage } from './virtual-stage.ts'

export interface VirtualDay {
  readonly steps: number
  /** Of run A in a step, before those kinds are left out that are not played here; run B has a quarter as many. */
  readonly rows: number
  readonly seed: number
  /** The first of a hundred ports. */
  readonly port: number
  /** Told of each step once it is over. */
  readonly over?: (step: number, lines: string) => void
}

/** Turns of the loop until nothing is on its way between trainer, balancer, replica and judge. */
const turns = 40
const stepMs = 600_000
/** Caches of an hour are full, and lists of recent steps as long as they get. */
const settledSteps = 24
const mib = 2 ** 20

/** What the day came to: a line for each bound, and how many rows it had. */
export async function playVirtualDay({
  steps,
  rows,
  seed,
  port,
  over,
}: VirtualDay): Promise<{ verdicts: readonly Verdict[]; rows: number }> {
  const clock = new VirtualTime(turns)
  const stage = await openVirtualStage({ port, seed, judgeSpeed: 1, knowsPlaces: true }, clock)
  const all: (readonly Verdict[])[] = []
  const heaps: number[] = []
  let played = 0
  for (let step = 0; step < steps; step++) {
    const options = { seed: seed + step, rows, stepMs, isLong: false, isCalm: false, isPart: false }
    const ended = await clock.pass(playStep(stage, options))
    played += ended.rows
    all.push(ended.verdicts)
    heaps.push((await (stage.replicas[0]?.heapAtRest() ?? Number.NaN)) / mib)
    over?.(step, `${tableOf(ended.verdicts)}\n\n${ended.more}\n`)
  }
  const left = await clock.pass(leftInFlight(stage))
  await clock.pass(stage.close())
  const settled = Math.min(settledSteps, Math.floor(steps / 2))
  const growth = Math.max(...heaps.slice(-3)) / (heaps[settled] ?? Number.NaN)
  const grown = atMost(
    `heap at rest after the last steps, over the one after step ${settled + 1}`,
    growth,
    1.1,
    ' times',
    `${heaps.map(Math.round).join(', ')} MiB`,
  )
  return {
    rows: played,
    verdicts: [
      ...worstOf(all),
      atMost('left in flight afterwards', left, 0, ''),
      steps > 2 * settledSteps ? grown : told(grown),
    ],
  }
}

if (import.meta.filename === process.argv[1]) {
  const { values } = parseArgs({
    options: {
      steps: { type: 'string', default: '144' },
      rows: { type: 'string', default: '512' },
      seed: { type: 'string', default: '1' },
      port: { type: 'string', default: '18500' },
    },
  })
  const [steps, rows, seed, port] = [values.steps, values.rows, values.seed, values.port].map(Number)
  const began = performance.now()
  const { verdicts, rows: played } = await playVirtualDay({
    steps: steps ?? 1,
    rows: rows ?? 1,
    seed: seed ?? 1,
    port: port ?? 0,
    over: (step, lines) => {
      if (step === 0) process.stdout.write(`step 1 of ${steps}\n${lines}\n`)
    },
  })
  const failed = verdicts.filter(({ holds }) => holds === false)
  const minutes = ((performance.now() - began) / 60_000).toFixed(1)
  process.stdout.write(
    `the day: ${steps} steps of 600 s, ${played} rows, in ${minutes} minutes\n${tableOf(verdicts)}\n${failed.length === 0 ? 'all holds' : `${failed.length} fail`}\n`,
  )
  process.exit(failed.length === 0 ? 0 : 1)
}

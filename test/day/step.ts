import { atMost, late, told, type Verdict } from './bounds.ts'
import { type Found, playEvents } from './events.ts'
import { asked, loadOf, type Row } from './load.ts'
import { type Burst, burstRatio, kindsTable, Measures, p99ByRule } from './measures.ts'
import type { Stage } from './stage.ts'
import type { Timeline } from './timeline.ts'
import { type Final, Trainer } from './trainer.ts'

export interface StepOptions {
  readonly seed: number
  /** Of run A. */
  readonly rows: number
  readonly stepMs: number
  readonly isLong: boolean
  /** Without events. */
  readonly isCalm: boolean
  /** Too short to judge CPU and questions by: events cost as many as in a whole step. */
  readonly isPart: boolean
}

/** What a step came to. `more`: of each kind how long it took, and the first violations. */
export interface Played {
  readonly rows: number
  readonly verdicts: readonly Verdict[]
  readonly more: string
}

const burstAt = 0.5
/** A request is written this long before it is sent. */
const writtenAheadMs = 3000
/** Longer than any row may wait. */
const tailMs = 600_000
const mib = 2 ** 20

export async function playStep(stage: Stage, options: StepOptions): Promise<Played> {
  const { stepMs, isCalm } = options
  const { time } = stage
  const rows = loadOf({ ...options, burstAt }).flatMap((row) => stage.played?.(row) ?? row)
  let began = time.now()
  const now = () => time.now() - began
  const say = (what: string) =>
    void process.stderr.write(`${(now() / 1000).toFixed(1).padStart(7)} s  ${what}\n`)
  for (const [index, replica] of stage.replicas.entries())
    replica.onBlock = (ms) => say(`the loop of replica ${index} was blocked for ${ms} ms`)
  const trainer = new Trainer(stage, now)
  await trainer.learn()
  const measures = new Measures(stage, trainer, now)
  await measures.begin()
  began = time.now()
  const lastArrivalMs = rows.at(-1)?.atMs ?? 0
  void write(trainer, rows, now, time)
  const work = send(trainer, rows, now, time)
  const burst = measures.burst(stepMs * burstAt, rows, lastArrivalMs + tailMs)
  const events = isCalm ? null : playEvents({ stage, trainer, stepMs, rows: options.rows, now, say })
  const watch = setInterval(() => say(measures.state()), Math.max(5000, stepMs / 20))
  const tail = time.pause(lastArrivalMs).then(() => measures.waitedMs())
  const isDone = await Promise.race([
    work.then(() => true),
    time.pause(lastArrivalMs + tailMs).then(() => false),
  ])
  const tailS = (now() - lastArrivalMs) / 1000
  const waitedS = (measures.waitedMs() - (await tail)) / 1000
  say(isDone ? 'every row has its final answer' : 'rows are left without an answer')
  const [found, burstOver] = [await events, await burst]
  clearInterval(watch)
  const verdicts = await verdictsOf(rows, trainer, measures, {
    ...options,
    tailS,
    waitedS,
    found,
    burst: burstOver,
    isReal: time.isReal,
  })
  await trainer.close()
  return { rows: rows.length, verdicts, more: summaryOf(trainer) }
}

/** Writes the requests one by one, each in a turn of its own. What is not written in time is written when it is sent. */
async function write(
  trainer: Trainer,
  rows: readonly Row[],
  now: () => number,
  { pause }: Timeline,
): Promise<void> {
  for (const row of rows) {
    await pause(row.atMs - writtenAheadMs - now())
    if (now() < row.atMs) trainer.write(row)
  }
}

/** Sends each row at its time; resolves when all have their final answers. */
async function send(
  trainer: Trainer,
  rows: readonly Row[],
  now: () => number,
  { pause }: Timeline,
): Promise<void> {
  const groups = new Map<string, Row[]>()
  for (const row of rows) {
    const group = groups.get(row.group)
    if (group) group.push(row)
    else groups.set(row.group, [row])
  }
  await Promise.all(
    rows.map(async (row) => {
      if (row.wasAborted) {
        await pause(row.atMs / 2 - now())
        await trainer.scoreHalf(row)
      }
      await pause(row.atMs - now())
      await trainer.score(row)
      await trainer.unify(groups.get(row.group) ?? [])
    }),
  )
}

interface Measured extends StepOptions {
  readonly tailS: number
  /** Of the tail, in line for a core. */
  readonly waitedS: number
  readonly found: Found | null
  readonly burst: Burst
  /** Whether the machine's own speed shows: CPU, memory of each replica, and the delay of its loop. */
  readonly isReal: boolean
}

/** A judge that has no verdict is no fault of the infrastructure. */
const isInfrastructure = (failure: string | null): failure is string =>
  failure !== null && failure !== 'judge_unparseable'

async function verdictsOf(
  rows: readonly Row[],
  trainer: Trainer,
  measures: Measures,
  { isCalm, isPart, tailS, waitedS, found, burst, isReal }: Measured,
): Promise<Verdict[]> {
  const used = await measures.end(burst)
  const finals = [...trainer.finals.values()]
  const missing = rows.filter((row) => !trainer.cancelled.has(row) && !trainer.finals.has(row.id))
  const failures = finals.map(({ failure }) => failure).filter(isInfrastructure)
  const doubled = trainer.violations.filter((violation) => violation.includes('two final')).length
  const needed = rows.reduce((sum, row) => sum + questionsOf(row), 0)
  const ofA = rows.filter(({ kind }) => kind !== 'burst')
  const kib = ofA.reduce((sum, { tokens }) => sum + tokens / 256, 0) / ofA.length
  const ratio = burstRatio(finals, burst)
  const [byRule, again] = [p99ByRule(trainer.answers, false), p99ByRule(trainer.answers, true)]
  const full = isPart ? told : (verdict: Verdict) => verdict
  return [
    atMost('uncancelled rows without a final answer', missing.length, 0, ''),
    atMost('rows with two', doubled, 0, ''),
    atMost('rows with a wrong number, and other violations', trainer.violations.length - doubled, 0, ''),
    atMost('rows invalid for infrastructure', failures.length, 0, '', [...new Set(failures)].join(', ')),
    late(
      `last reward after the last arrival, ${isCalm ? 'without' : 'with'} events`,
      tailS,
      waitedS,
      isCalm ? 30 : 60,
      's',
    ),
    ...(Number.isNaN(ratio.ratio)
      ? []
      : [
          atMost(
            'p99 of run A while run B is scored, over its p99 otherwise',
            ratio.ratio,
            2,
            ' times',
            ratio.note,
          ),
        ]),
    ...(found?.suspect ?? []).map(({ replica, seconds, waitedS: lateS }) =>
      late(`a hung server is suspect at replica ${replica}`, seconds, lateS, 15, 's'),
    ),
    ...(isReal ? ofMachine() : []),
    full(questionsOver(used.questions, needed, trainer.answers)),
    atMost(
      'groups with rewards of two versions',
      mixedGroups(finals),
      0,
      '',
      `${trainer.again} rows were asked again`,
    ),
  ]

  function ofMachine(): Verdict[] {
    return [
      late('p99 of a row by rule only', byRule.ms, byRule.waitedMs, 250, 'ms'),
      // The trainer always keeps 64 of them under way: how fast they are asked shows in it, and not how long one takes.
      told(late('the same of rows that are asked again', again.ms, again.waitedMs, 250, 'ms')),
      full(atMost(`CPU of the gateway for a row of run A (${kib.toFixed(0)} KB)`, used.cpuOfA, 6, 'ms')),
      full(atMost('CPU of the gateway for a row of run B (4 KB)', used.cpuOfB, 1.5, 'ms')),
      atMost(
        'most resident memory of a replica',
        used.peakRss / mib,
        1024,
        'MiB',
        `at most ${(trainer.mostBytes / mib).toFixed(0)} MiB of bodies in progress`,
      ),
      atMost('p99 of the delay of the loop', used.loopP99, 50, 'ms'),
      atMost('most delay of the loop', used.loopMost, 100, 'ms'),
    ]
  }
}

const questionsOf = (row: Row): number => Object.values(asked(row)).filter(Boolean).length

/** Places of the servers that events take away with all that is asked there: one is killed, one hangs, and two are away. */
const placesLost = 64 + 64 + 2 * 32

/**
 * What a row asked at a replica that was killed is lost with it: a busy machine has more rows in progress then. A step with few rows loses as
 * much at the servers that are taken away as a whole one.
 */
function questionsOver(questions: number, needed: number, answers: readonly Final[]): Verdict {
  const again = answers.reduce((sum, { row, tries }) => sum + (tries - 1) * questionsOf(row), 0)
  const lost = again + placesLost
  const note = `${questions} of ${needed}; ${again} of rows whose connection was lost`
  const verdict = atMost('questions over those needed', questions / needed, 1.1, ' times', note)
  return { ...verdict, holds: verdict.holds || (questions - lost <= 1.1 * needed ? null : false) }
}

function mixedGroups(finals: readonly { readonly row: Row; readonly edition: number }[]): number {
  const editions = new Map<string, Set<number>>()
  for (const { row, edition } of finals)
    editions.set(row.group, (editions.get(row.group) ?? new Set()).add(edition))
  return [...editions.values()].filter(({ size }) => size > 1).length
}

function summaryOf(trainer: Trainer): string {
  const finals = [...trainer.finals.values()]
  const without = finals.filter(({ failure }) => failure === 'judge_unparseable').length
  const { answered, refused, lost } = trainer.ends
  const why = [...trainer.refusals].map(([code, count]) => `${count} ${code}`).join(', ')
  return [
    kindsTable(finals),
    `\nrequests: ${answered} answered, ${refused} refused${why && ` (${why})`}, ${lost} lost; ${without} rows without a verdict, ${trainer.cancelled.size} cancelled`,
    ...trainer.violations.slice(0, 20),
  ].join('\n')
}

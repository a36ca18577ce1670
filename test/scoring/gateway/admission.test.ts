import t, { type Test } from 'tap'
import type { Outcome } from '../../../src/core/sample/sample.ts'
import type { Gateway } from '../../../src/scoring/gateway/gateway.ts'
import { type FakeClock, fakeClock } from '../../support/clock.ts'
import { resultOf, sampleOf, testGateway } from '../../support/gateway.ts'
import { completion, json, type ScriptedServer, scriptedServer } from '../../support/scripted-server.ts'
import { seeded } from '../../support/seeded.ts'

const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31))
t.comment(`SEED=${seed}`)

/**
 * A judge that answers `places` questions at once and takes `ms` for each on the gateway's clock. Further
 * questions wait at the judge.
 */
interface Judge {
  readonly server: ScriptedServer
  /** Questions received but not answered yet. */
  readonly open: number
  readonly answered: number
}

async function judgeOf(t: Test, clock: FakeClock, places: number, ms: () => number): Promise<Judge> {
  const waiting: (() => void)[] = []
  let [running, open, answered] = [0, 0, 0]
  const next = () => {
    while (running < places && waiting.length > 0) waiting.shift()?.()
  }
  const server = await scriptedServer((seen, response) => {
    open += 1
    let cancel = () => {}
    let isRunning = false
    let isOver = false
    const over = () => {
      if (isOver) return
      isOver = true
      open -= 1
      cancel()
      if (isRunning) running -= 1
      next()
    }
    response.on('close', over)
    waiting.push(() => {
      if (isOver) return
      isRunning = true
      running += 1
      cancel = clock.after(ms(), () => {
        answered += 1
        json(response, completion(seen, '1'))
        over()
      })
    })
    next()
  })
  t.teardown(() => server.kill())
  return {
    server,
    get open() {
      return open
    },
    get answered() {
      return answered
    },
  }
}

/** Runs everything that does not need the clock to advance. */
async function settle(
  gateway: Gateway,
  judge: Judge,
  expected: (snapshot: { waiting: number; inFlight: number }) => boolean,
) {
  for (let calm = 0, turn = 0; calm < 3 && turn < 500; turn++) {
    await new Promise(setImmediate)
    const [model] = gateway.models()
    const inFlight = model?.instances.reduce((sum, one) => sum + one.inFlight, 0) ?? 0
    const isCalm = inFlight === judge.open && expected({ waiting: model?.waiting ?? 0, inFlight })
    calm = isCalm ? calm + 1 : 0
  }
}

const question = { name: 'q', function: 'yes-no-judge', model: 'judge' }

interface World {
  readonly places: number
  readonly ms: () => number
  readonly reward: object
  readonly model?: object
}

interface Load extends World {
  readonly perS: number
  readonly seconds: number
  /** Samples per request. */
  readonly rows?: number
}

const stepMs = 50

/** A gateway in front of one judge, with the results of the samples sent to it. */
async function worldOf(t: Test, { places, ms, reward, model = {} }: World) {
  const clock = fakeClock()
  const judge = await judgeOf(t, clock, places, ms)
  const config = {
    model: 'm',
    instances: [judge.server.url],
    health: { interval_s: 0 },
    cache: 'never',
    ...model,
  }
  const gateway = await testGateway(t, { gateway: { models: { judge: config } }, judged: reward }, { clock })
  const found = { scored: 0, late: 0, other: 0, refused: 0, withoutRetryAfter: 0 }
  let serial = 0
  const send = (rows = 1, answer = 'answer') => {
    const samples = Array.from({ length: rows }, () =>
      sampleOf(`${serial++} ${answer}`, { prompt: 'q', groundTruth: '1' }),
    )
    const job = { reward: 'judged', rows: samples, signal: new AbortController().signal, isRefusable: true }
    const scoring = async (): Promise<readonly Outcome[]> => (await gateway.score(job)).outcomes
    void scoring().then(
      (outcomes) => {
        for (const outcome of outcomes) {
          if (outcome.valid) found.scored += 1
          else if (resultOf(outcome) === 'deadline') found.late += 1
          else found.other += 1
        }
      },
      (error) => {
        found.refused += rows
        if (!(error.code === 'RG_OVERLOADED' && error.retryAfterS >= 1)) found.withoutRetryAfter += 1
      },
    )
  }
  /** Advances the clock in steps, after pending work. By then every row that asks has asked. */
  const pass = async (ms: number, isWaiting = true) => {
    for (let at = 0; at < ms; at += stepMs) {
      await settle(
        gateway,
        judge,
        ({ waiting, inFlight }) => !isWaiting || waiting + inFlight >= gateway.inFlight,
      )
      clock.advance(stepMs)
    }
    await settle(gateway, judge, () => true)
  }
  /** Waits in real time until every row in progress has asked: its rules may run in a worker. */
  const asked = async () => {
    for (;;) {
      const [model] = gateway.models()
      const inFlight = model?.instances.reduce((sum, one) => sum + one.inFlight, 0) ?? 0
      if ((model?.waiting ?? 0) + inFlight >= gateway.inFlight) return
      await new Promise(setImmediate)
    }
  }
  const end = async () => {
    for (let turn = 0; turn < 1000 && gateway.inFlight > 0; turn++) await pass(stepMs, false)
    t.comment(JSON.stringify(found))
    return found
  }
  return { send, pass, asked, end, found }
}

/** Sends a load for some seconds, waits for it to finish, and returns the results. */
async function load(t: Test, { perS, seconds, rows = 1, ...parts }: Load) {
  const { send, pass, end, found } = await worldOf(t, parts)
  let due = 0
  for (let at = 0; at < seconds * 1000; at += stepMs) {
    due += (perS * stepMs) / 1000 / rows
    for (; due >= 1; due -= 1) send(rows)
    await pass(stepMs, rows === 1)
  }
  const scoredInTime = found.scored
  return { ...(await end()), scoredInTime }
}

const loads: readonly (readonly [string, Partial<Load>, number])[] = [
  ['with places that only the judge knows', {}, 1],
  ['with places that the gateway knows', { places: 40, ms: () => 800, model: { max_in_flight: 40 } }, 1],
  ['with a short deadline', { reward: { steps: [question], deadline_s: 3 } }, 1],
  [
    'with two questions, one after the other',
    {
      perS: 75,
      reward: {
        steps: [question, { ...question, name: 'r', when: 'q > 0', options: { template: '{answer}' } }],
        deadline_s: 8,
      },
    },
    2,
  ],
  ['with requests of ten samples', { rows: 10 }, 1],
  ['with answers that take unequally long', { ms: latencies(100) }, 1],
]

/** Random times with this mean; the longest are four times the shortest. */
function latencies(mean: number): () => number {
  const random = seeded(seed)
  return () => mean * (0.4 + 1.2 * random())
}

/** Two deadlines and more. */
const seconds = 14

for (const [what, more, share] of loads) {
  t.test(`at three times capacity ${what}, admitted samples are scored at the judge's pace`, async (t) => {
    const { scored, late, other, refused, withoutRetryAfter, scoredInTime } = await load(t, {
      places: 5,
      ms: () => 100,
      perS: 150,
      seconds,
      reward: { steps: [question], deadline_s: 6 },
      ...more,
    })
    t.ok(late + other <= 0.02 * (scored + late + other), `${late} late, ${other} other, of ${scored}`)
    // The first answers arrive with a delay.
    const capacity = (50 * (seconds - 0.8 * share)) / share
    t.ok(scoredInTime >= 0.95 * capacity, `${scoredInTime} scored, of ${capacity}`)
    t.ok(refused > 0)
    t.equal(withoutRetryAfter, 0, 'every refusal has a Retry-After')
  })
}

const steady: World = { places: 5, ms: () => 100, reward: { steps: [question], deadline_s: 6 } }

t.test('a burst that can be served in time is admitted, whatever came before', async (t) => {
  for (const [what, before, burst] of [
    ['at the start', 0, (send: (rows?: number) => void) => Array.from({ length: 240 }, () => send())],
    ['one request, at the start', 0, (send: (rows?: number) => void) => send(240)],
    ['after a busy time', 300, (send: (rows?: number) => void) => Array.from({ length: 200 }, () => send())],
    ['one request after a busy time', 300, (send: (rows?: number) => void) => send(200)],
  ] as const) {
    const { send, pass, end, found } = await worldOf(t, steady)
    for (let sent = 0; sent < before; sent += 6) {
      for (let one = 0; one < 6; one++) send()
      await pass(50)
    }
    await pass(before === 0 ? 0 : 12_000, false)
    const { scored, refused } = { ...found }
    burst(send)
    const after = await end()
    t.strictSame([after.scored - scored, after.refused - refused], [before === 0 ? 240 : 200, 0], what)
    t.equal(after.late + after.other, 0, what)
  }
})

t.test('once the pace is known, everything admitted from an oversized burst is scored', async (t) => {
  const { send, pass, end, found } = await worldOf(t, steady)
  for (let sent = 0; sent < 300; sent += 6) {
    for (let one = 0; one < 6; one++) send()
    await pass(50)
  }
  await pass(8000, false)
  const { scored } = { ...found }
  for (let one = 0; one < 1000; one++) send()
  const after = await end()
  t.equal(after.late + after.other, 0)
  t.ok(after.scored - scored > 200 && after.refused > 600, `${after.scored - scored} are scored`)
  t.equal(after.withoutRetryAfter, 0)
})

t.test("rows behind a closed gate take no share of the judge's capacity", async (t) => {
  // A rule that runs in this process, so that the virtual clock covers it.
  const rule = { name: 'rule', function: 'numeric-match', weight: 0 }
  const { send, pass, asked, end } = await worldOf(t, {
    ...steady,
    reward: { gate: 'rule == 1', steps: [rule, question], deadline_s: 6 },
  })
  for (let one = 0; one < 300; one++) {
    send(1, one % 10 === 0 ? '\\boxed{1}' : '\\boxed{0}')
    if (one % 10 !== 0) continue
    await asked()
    await pass(50, false)
  }
  await asked()
  await end()
  for (let one = 0; one < 900; one++) {
    send(1, one % 10 === 0 ? '\\boxed{1}' : '\\boxed{0}')
    if (one % 10 === 9) await new Promise(setImmediate)
  }
  await asked()
  const after = await end()
  t.strictSame([after.scored, after.refused, after.late + after.other], [1200, 0, 0])
})

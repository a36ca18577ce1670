import t from 'tap'
import type { StallCause } from '../../../src/core/stalls/request-times.ts'
import { quietMs } from '../../../src/core/stalls/step-stalls.ts'
import type { GatewayJob } from '../../../src/scoring/gateway/gateway.ts'
import { fakeClock } from '../../support/clock.ts'
import { sampleOf, testGateway } from '../../support/gateway.ts'
import { probesOff, until } from '../../support/models.ts'
import { completion, json, type Script, scriptedServer } from '../../support/scripted-server.ts'
import { seeded } from '../../support/seeded.ts'

const seed = Number(process.env.SEED ?? 27)
const clock = fakeClock()

/** Answers that wait for a test to let them go. */
const held: (() => void)[] = []
const holds =
  (reply: (seen: Parameters<Script>[0]) => object): Script =>
  (seen, response) =>
    void held.push(() => json(response, reply(seen)))
const yes = holds((seen) => completion(seen, 'Yes'))
const passes = holds(() => ({
  compiled: true,
  cases: [{ ended: 'ok', passed: true, error: '', cpu_s: 0 }],
  out_of_time: false,
}))
const [only, one, other, away, sandbox] = await Promise.all(
  [yes, yes, yes, yes, passes].map((script) => scriptedServer(script, ['m'])),
)
const servers = [only, one, other, away, sandbox]
t.teardown(() => Promise.all(servers.map((server) => server?.kill())))

const model = (instances: readonly (string | undefined)[], more: object = {}) => ({
  model: 'm',
  instances,
  cache: 'never',
  ...probesOff,
  ...more,
})
const judged = (name: string) => ({ steps: [{ name: 'judge', function: 'yes-no-judge', model: name }] })
const gateway = await testGateway(
  t,
  {
    gateway: {
      models: {
        narrow: model([only?.url], { max_in_flight: 1 }),
        pair: model([one?.url, other?.url], { timeout_s: 30, breaker: { failures: 1000 } }),
        away: model([away?.url], { breaker: { failures: 1, open_s: 1 } }),
      },
      sandboxes: {
        fleet: { backend: 'reward-gateway', instances: [sandbox?.url], health: { interval_s: 0 } },
      },
      limits: { deadline_s: 3600 },
    },
    rule: { steps: [{ name: 'rule', function: 'math-verify' }] },
    quick: { steps: [{ name: 'rule', function: 'exact-match' }] },
    narrow: judged('narrow'),
    pair: judged('pair'),
    away: judged('away'),
    late: { ...judged('narrow'), deadline_s: 20 },
    siblings: {
      steps: [
        { name: 'judge', function: 'yes-no-judge', model: 'narrow' },
        { name: 'length', function: 'group-length', options: { kind: 'kimi' }, after: ['judge'] },
      ],
    },
    program: { steps: [{ name: 'tests', function: 'code-tests', sandbox: 'fleet' }] },
    group: {
      steps: [
        { name: 'right', function: 'exact-match' },
        { name: 'length', function: 'group-length', options: { kind: 'kimi' }, after: ['right'] },
      ],
      group: { wait_s: 60 },
    },
  },
  { clock },
)

let rows = 0
/** A request of one row, which no other request repeats. */
const send = (reward: string, run: string, step: number, parts: object = {}, job: Partial<GatewayJob> = {}) =>
  gateway.score({
    reward,
    run,
    trainingStep: step,
    rows: [sampleOf(`answer ${rows++}`, { groundTruth: '1', ...parts })],
    signal: new AbortController().signal,
    ...job,
  })

const answer = async (): Promise<void> => {
  await until(() => held.length > 0)
  held.shift()?.()
}

/** Lets time pass in small steps, so that sockets can speak in between. */
async function pass(ms: number): Promise<void> {
  for (const end = clock.now() + ms; clock.now() < end; clock.advance(Math.min(250, end - clock.now())))
    for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate)
}

/** Milliseconds by cause, and by model where there is one. */
type Planted = Readonly<Record<string, number>>

/** Each plays a step, in which its cause holds up the last reward, and tells what it planted. */
const planted: Readonly<
  Record<StallCause, (run: string, step: number, random: (most: number) => number) => Promise<Planted>>
> = {
  async rule(run, step, random) {
    const ms = 200 + random(800)
    const scored = send('rule', run, step)
    clock.advance(ms)
    await scored
    return { rule: ms }
  },
  async line(run, step, random) {
    const count = 2 + random(3)
    const all = Array.from({ length: count }, () => send('narrow', run, step))
    let line = 0
    for (let left = count; left > 1; left -= 1) {
      await until(() => held.length > 0)
      const ms = 1000 + random(20_000)
      clock.advance(ms)
      line += ms
      await answer()
    }
    await until(() => held.length > 0)
    const last = random(1000)
    clock.advance(last)
    await answer()
    await Promise.all(all)
    return { 'line narrow': line, 'answer narrow': last }
  },
  async answer(run, step, random) {
    const scored = send('narrow', run, step)
    await until(() => held.length > 0)
    const ms = 1000 + random(20_000)
    clock.advance(ms)
    await answer()
    await scored
    return { 'answer narrow': ms }
  },
  async hung(run, step, random) {
    const scored = send('pair', run, step)
    await until(() => held.length > 0)
    held.length = 0
    // The step goes on while the server hangs already.
    const before = random(20_000)
    clock.advance(before)
    await send('quick', run, step)
    clock.advance(30_000 - before)
    await until(() => held.length > 0)
    const ms = random(1000)
    clock.advance(ms)
    await answer()
    await scored
    return { 'hung pair': 30_000 - before, 'answer pair': ms }
  },
  async sandbox(run, step, random) {
    const response = `\`\`\`python\nprint(${rows++})\n\`\`\``
    const groundTruth = { inputs: ['1'], outputs: ['1'], fn_name: null }
    const scored = send('program', run, step, { response, groundTruth })
    await until(() => held.length > 0)
    const ms = 1000 + random(20_000)
    clock.advance(ms)
    await answer()
    await scored
    return { 'sandbox fleet': ms }
  },
  async group(run, step, random) {
    const member = (index: number) => ({ prompt: 'p', group: { id: `${run} ${step}`, size: 3, index } })
    const first = send('group', run, step, member(0))
    const before = random(50_000)
    await pass(250)
    clock.advance(before)
    const second = send('group', run, step, member(1))
    await pass(250)
    clock.advance(60_000 - 500 - before)
    await pass(500)
    await Promise.all([first, second])
    return { group: 60_000 - 250 - before }
  },
  async parked(run, step, random) {
    await away?.kill()
    const scored = send('away', run, step)
    const ms = 60_000 + random(60_000)
    await pass(ms)
    await away?.revive()
    const since = clock.now()
    for (let turn = 0; held.length === 0 && turn < 1000; turn += 1) await pass(250)
    const parked = ms + clock.now() - since
    await answer()
    await scored
    return { 'parked away': parked }
  },
  async gateway(run, step, random) {
    const arrived = clock.now()
    const ms = 1000 + random(20_000)
    clock.advance(ms)
    await send('quick', run, step, {}, { arrived })
    return { gateway: ms }
  },
}

t.test(
  'planted causes get at least 95 % of the seconds that they cost, and no step more than it lasted',
  async (t) => {
    const random = seeded(seed)
    const draw = (most: number): number => Math.floor(random() * most)
    for (const [cause, play] of Object.entries(planted)) {
      const all = { planted: 0, found: 0, lasted: 0 }
      for (let step = 0; step < 20; step++) {
        // A row that was scored long before the last one came.
        await send('quick', cause, step)
        clock.advance(draw(10_000))
        const expected = await play(cause, step, draw)
        clock.advance(quietMs)
        const [stall] = gateway.stalls().find(({ run }) => run === cause)?.steps ?? []
        const shares = new Map(stall?.shares.map(({ cause, model, ms }) => [`${cause} ${model}`.trim(), ms]))
        if (stall?.step !== step) t.fail(`${cause}: step ${step} is not closed`)
        all.lasted += stall?.ms ?? 0
        for (const [name, ms] of Object.entries(expected)) {
          all.planted += ms
          all.found += Math.min(ms, shares.get(name) ?? 0)
        }
      }
      const share = all.found / all.planted
      t.ok(
        share >= 0.95 && all.lasted <= all.planted / 0.95,
        `${cause}: ${(100 * share).toFixed(2)} % (SEED=${seed})`,
      )
      t.comment(`${cause}: ${(100 * share).toFixed(2)} % of ${Math.round(all.planted / 1000)} s`)
    }
  },
)

t.test('the critical path', async (t) => {
  const sharesOf = (run: string, at = 0) =>
    Object.fromEntries(
      (gateway.stalls().find((one) => one.run === run)?.steps[at]?.shares ?? []).map(
        ({ cause, model, ms }) => [`${cause} ${model}`.trim(), ms],
      ),
    )

  t.test('goes on in the row that a group waited for', async (t) => {
    const rows = [0, 1].map((index) =>
      sampleOf(`sibling ${index}`, { group: { id: 'g', size: 2, index }, groundTruth: '1' }),
    )
    const scored = gateway.score({
      reward: 'siblings',
      run: 'siblings',
      rows,
      signal: new AbortController().signal,
    })
    await until(() => held.length > 0)
    clock.advance(3000)
    await answer()
    await until(() => held.length > 0)
    clock.advance(5000)
    await answer()
    await scored
    clock.advance(quietMs)
    t.strictSame(sharesOf('siblings'), { 'answer narrow': 5000, 'line narrow': 3000 })
  })

  t.test('ends at a deadline with the server that gave no answer', async (t) => {
    const scored = send('late', 'late', 0)
    await until(() => held.length > 0)
    clock.advance(20_000)
    t.match((await scored).outcomes, [{ valid: false }])
    held.length = 0
    clock.advance(quietMs)
    t.strictSame(sharesOf('late'), { 'hung narrow': 20_000 })
  })

  t.test('is that of one step, although its rows waited long in the queue', async (t) => {
    const stepsOf = () => gateway.stalls().find(({ run }) => run === 'queued')?.steps ?? []
    await send('quick', 'queued', 1)
    gateway.awaitRows((run, step) => run === 'queued' && step === 1)
    clock.advance(3 * quietMs)
    t.strictSame(stepsOf(), [], 'the queue still has rows of it')
    const last = send('narrow', 'queued', 1)
    gateway.awaitRows(() => false)
    await until(() => held.length > 0)
    clock.advance(7000)
    await answer()
    await last
    clock.advance(quietMs)
    t.equal(stepsOf().length, 1)
    t.strictSame(sharesOf('queued'), { 'answer narrow': 7000 })
  })

  t.test('leaves out what nobody waited for, and steps of which rows still come', async (t) => {
    const gone = new AbortController()
    await send('quick', 'mixed', 1)
    const left = send('narrow', 'mixed', 1, {}, { signal: gone.signal })
    await until(() => held.length > 0)
    clock.advance(20_000)
    gone.abort()
    await left
    held.length = 0
    // An asynchronous trainer goes on with one step while another has begun.
    for (let round = 0; round < 3; round++)
      for (const step of [1, 2]) {
        clock.advance(9000)
        await send('quick', 'mixed', step)
      }
    const slow = send('narrow', 'mixed', 1)
    await until(() => held.length > 0)
    clock.advance(7000)
    await answer()
    await slow
    clock.advance(quietMs)
    t.strictSame(sharesOf('mixed', 0), { 'answer narrow': 7000 })
    t.strictSame(sharesOf('mixed', 1), {}, 'step 2 waited for nothing')
    t.strictSame(sharesOf('mixed', 2), {}, 'and each was closed once')
  })

  t.test('is bounded by runs', async (t) => {
    for (let run = 0; run < 40; run++) await send('quick', `many ${run}`, 0)
    t.equal(gateway.stalls().length, 16)
  })
})

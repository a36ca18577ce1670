import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Sample, Term } from '../../../src/core/sample/sample.ts'
import { GroupTimes, RequestTimes } from '../../../src/core/stalls/request-times.ts'
import type { StepContext } from '../../../src/scoring/engine/context.ts'
import { incomplete } from '../../../src/scoring/engine/context.ts'
import { CrossRequestGroups } from '../../../src/scoring/engine/groups/cross-request-groups.ts'
import type { Gateway } from '../../../src/scoring/gateway/gateway.ts'
import type { PlanStep } from '../../../src/scoring/plan/plan.ts'
import type { Policy } from '../../../src/simulator/policies.ts'
import { fakeClock } from '../../support/clock.ts'
import { outcomesOf, resultOf, sampleOf, testGateway, testModel } from '../../support/gateway.ts'
import { probesOff } from '../../support/models.ts'
import { completion, scriptedServer } from '../../support/scripted-server.ts'
import { seeded } from '../../support/seeded.ts'

const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31))
t.comment(`SEED=${seed}`)

const larger: Policy = ({ candidates: [a, b] }) => (Number(a?.text) > Number(b?.text) ? 'A' : 'B')

const group = (id: string, answers: readonly string[], size = answers.length): Sample[] =>
  answers.map((response, index) =>
    sampleOf(response, { id: `${id}/${index}`, prompt: id, group: { id, index, size } }),
  )

const duel = { name: 'duel', function: 'number-duel', model: 'judge' }

/** Enough turns of the event loop for pending work to start. */
const turns = async (count = 50) => {
  for (let turn = 0; turn < count; turn++) await new Promise(setImmediate)
}

t.test('members of a group may arrive in separate requests', async (t) => {
  const { servers, config } = await testModel(t, 1, { policy: larger }, { cache: 'never', ...probesOff })
  const clock = fakeClock()
  const models = { judge: config }
  const gateway = await testGateway(
    t,
    {
      held: { models, group: { wait_s: 5 }, steps: [duel] },
      some: { models, group: { wait_s: 5, min: 2 }, steps: [duel] },
      unsaid: { models, steps: [duel] },
      gated: {
        models,
        group: { wait_s: 5 },
        gate: 'rule > 0',
        steps: [
          { name: 'rule', function: 'echo-rule', weight: 0 },
          { ...duel, op: 'add' },
        ],
      },
    },
    { clock },
  )
  const send = (reward: string, rows: readonly Sample[], job = {}) =>
    outcomesOf(gateway, reward, rows, { deadlineMs: 60_000, ...job })
  const results = async (sent: ReturnType<typeof send>) => (await sent).map(resultOf)
  const asked = () => servers[0]?.stats().sequences.finished ?? 0

  await t.test('members get the same rewards however they are split over requests', async (t) => {
    const random = seeded(seed)
    const rows = group('a', ['3', '1', '2', '5', '4', '1'])
    const expected = (await send('held', rows)).map(resultOf)
    t.ok(expected.every((value) => typeof value === 'number'))
    for (let round = 0; round < 4; round++) {
      const parcels: Sample[][] = [[], [], []]
      for (const row of rows) parcels[Math.floor(random() * 3)]?.push({ ...row, prompt: `a${round}` })
      parcels.push(parcels[0]?.splice(0, 1) ?? [])
      const found = new Map<string, unknown>()
      const outcomes = await Promise.all(parcels.map((parcel) => send('held', parcel)))
      for (const outcome of outcomes.flat()) found.set(outcome.id, resultOf(outcome))
      t.strictSame(
        rows.map(({ id }) => found.get(id)),
        expected,
      )
    }
  })

  await t.test(
    'within a training step a retry gets the same result, a different answer does not',
    async (t) => {
      const [first, second] = group('b', ['1', '2']) as [Sample, Sample]
      const before = asked()
      const step = { trainingStep: 3 }
      const sent = [send('held', [first], step), send('held', [first], step), send('held', [second], step)]
      const [one, retried, two] = (await Promise.all(sent)).flat().map(resultOf)
      t.equal(one, retried)
      t.ok(Number(one) < 1 && Number(two) > 9)
      const again = await results(send('held', [second], step))
      t.equal(asked() - before, 2, 'one comparison in both orders')
      t.strictSame(again, [two])
      const other = send('held', [{ ...second, response: '0' }], step)
      await turns()
      clock.advance(5001)
      t.strictSame(await results(other), ['group_incomplete'], 'it belongs to the next group of that name')
    },
  )

  await t.test('answers of different runs or training steps are not siblings', async (t) => {
    for (const jobs of [
      [{ run: 'x' }, { run: 'y' }],
      [{ trainingStep: 1 }, { trainingStep: 2 }],
    ]) {
      const sent = group(`r${clock.now()}`, ['1', '2']).map((row, at) => send('held', [row], jobs[at]))
      await turns()
      clock.advance(5001)
      t.strictSame((await Promise.all(sent)).flat().map(resultOf), ['group_incomplete', 'group_incomplete'])
    }
  })

  await t.test("a group's result is forgotten after its waiting time", async (t) => {
    const rows = group('h', ['1', '2'])
    const step = { trainingStep: 4 }
    const [one] = (await Promise.all(rows.map((row) => send('held', [row], step)))).flat().map(resultOf)
    clock.advance(5000)
    t.strictSame(await results(send('held', rows.slice(0, 1), step)), [one])
    clock.advance(1)
    const late = send('held', rows.slice(0, 1), step)
    await turns()
    clock.advance(5001)
    t.strictSame(await results(late), ['group_incomplete'])
  })

  await t.test("a group's questions stay in progress while any of its requests waits", async (t) => {
    servers[0]?.set({ kind: 'hang' })
    const rows = group('i', ['1', '2'])
    const client = new AbortController()
    const short = send('held', rows.slice(0, 1), { deadlineMs: 1000 })
    const long = send('held', rows.slice(1), { signal: client.signal })
    while (inFlight(gateway) < 2) await turns(1)
    clock.advance(1001)
    t.strictSame(await results(short), ['deadline'])
    await turns()
    t.equal(inFlight(gateway), 2)
    client.abort()
    t.strictSame(await results(long), ['cancelled'])
    while (inFlight(gateway) > 0) await turns(1)
    servers[0]?.set()
  })

  await t.test('within a training step an index belongs to the first answer that claims it', async (t) => {
    const [first, second] = group('c', ['1', '2', '3']) as [Sample, Sample]
    const other = { ...second, group: first.group as object } as Sample
    const step = { trainingStep: 5 }
    const waiting = send('held', [first], step)
    await turns()
    t.strictSame(await results(send('held', [other], step)), ['group_incomplete'])
    const without = [send('held', [first])]
    await turns()
    without.push(send('held', [other]))
    await turns()
    clock.advance(5001)
    t.strictSame(await results(waiting), ['group_incomplete'])
    t.strictSame((await Promise.all(without)).flat().map(resultOf), ['group_incomplete', 'group_incomplete'])
  })

  await t.test(
    'when the wait ends, too few members get no number, and `min` members are enough',
    async (t) => {
      for (const [reward, wanted] of [
        ['held', /group_incomplete/],
        ['some', /^\d/],
      ] as const) {
        const sent = group('d', ['1', '2', '3'])
          .slice(0, 2)
          .map((row) => send(reward, [row]))
        await turns()
        clock.advance(5001)
        const found = (await Promise.all(sent)).flat().map(resultOf)
        t.match(found.map(String), [wanted, wanted])
        const late = send(reward, group('d', ['1', '2', '3']).slice(2))
        await turns()
        clock.advance(5001)
        t.strictSame(await results(late), ['group_incomplete'])
      }
    },
  )

  await t.test(
    'a request with holdsGroups waits up to half of its time if the reward sets no wait',
    async (t) => {
      const hold = (count: number) =>
        group('h', ['1', '2', '3'])
          .slice(0, count)
          .map((row) => send('unsaid', [row], { holdsGroups: true, trainingStep: 6 }))
      const whole = (await Promise.all(hold(3))).flat().map(resultOf)
      t.ok(whole.every((value) => typeof value === 'number'))
      const sent = hold(2).map((one) => one.then(([outcome]) => resultOf(outcome)))
      t.strictSame(await Promise.all(sent), whole.slice(0, 2), 'a retry gets what the first try got')
      const short = group('i', ['1', '2', '3'])
        .slice(1)
        .map((row) => send('unsaid', [row], { holdsGroups: true }))
      await turns()
      clock.advance(30_001)
      t.strictSame((await Promise.all(short)).flat().map(resultOf), ['group_incomplete', 'group_incomplete'])
      const [apart] = await results(send('unsaid', group('j', ['1', '2', '3']).slice(2)))
      t.equal(apart, 'group_incomplete', 'otherwise no request waits')
    },
  )

  await t.test('a member behind a closed gate completes its group', async (t) => {
    const sent = group('e', ['1', '0', '2']).map((row) => send('gated', [row]))
    const [one, none, two] = (await Promise.all(sent)).flat()
    t.ok(Number(resultOf(one)) < 1 && Number(resultOf(two)) > 9)
    t.match(none?.terms[1], { status: 'off', why: 'gate' })
  })

  await t.test('a sample without a group whose step is off waits for nobody', async (t) => {
    const [outcome] = await send('gated', [sampleOf('0', { id: 'alone', prompt: '' })])
    t.match(outcome?.terms[1], { status: 'off', why: 'gate' })
  })

  await t.test(
    'a client that leaves fails no other, and once all have left no question continues',
    async (t) => {
      const left = new AbortController()
      const [first, second] = group('f', ['1', '2']) as [Sample, Sample]
      const gone = send('held', [first], { signal: left.signal })
      await turns()
      const stays = send('held', [second])
      left.abort()
      t.strictSame(await results(gone), ['cancelled'])
      t.ok(Number((await results(stays))[0]) > 9)
      servers[0]?.set({ kind: 'hang' })
      const all = new AbortController()
      const sent = group('g', ['1', '2']).map((row) => send('held', [row], { signal: all.signal }))
      while (inFlight(gateway) < 2) await turns(1)
      all.abort()
      t.strictSame((await Promise.all(sent)).flat().map(resultOf), ['cancelled', 'cancelled'])
      while (inFlight(gateway) > 0) await turns(1)
      t.equal(gateway.inFlight, 0)
    },
  )
})

const inFlight = (gateway: Gateway): number =>
  gateway
    .models()
    .reduce((sum, { instances }) => sum + instances.reduce((own, one) => own + one.inFlight, 0), 0)

t.test('answers for different versions of a reward are not siblings', async (t) => {
  const clock = fakeClock()
  const groups = new CrossRequestGroups(clock, async (_context, _step, rows) => rows as unknown as Term[])
  const [first, second] = group('v', ['1', '2']) as [Sample, Sample]
  const join = (sample: Sample, version: string) => {
    const job = { plan: { name: 'r', version }, deadline: 1e6 }
    const context = {
      job,
      end: { signal: new AbortController().signal },
      hold: () => () => {},
      clock,
      times: new RequestTimes(1, 0),
    } as unknown as StepContext
    const row = { sample, earlier: {} }
    const need = { size: 2, least: 2, waitMs: 1000 }
    return groups.join(
      { context, step: { name: 's' } as PlanStep, sample, row, place: 0 },
      need,
      new GroupTimes(),
    )
  }
  const apart = [join(first, 'old'), join(second, 'new')]
  clock.advance(1000)
  t.strictSame(await Promise.all(apart), [incomplete, incomplete])
  t.match(await Promise.all([join(first, 'new'), join(second, 'new')]), [
    { sample: first },
    { sample: second },
  ])
})

t.test('a group survives a reload that does not change its reward', async (t) => {
  const { config } = await testModel(t, 1, { policy: larger }, { cache: 'never', ...probesOff })
  const folder = t.testdir({})
  const write = (more: object) =>
    writeFileSync(
      join(folder, 'held.json'),
      JSON.stringify({ models: { judge: config }, group: { wait_s: 5 }, steps: [{ ...duel, ...more }] }),
    )
  write({})
  const clock = fakeClock()
  const gateway = await testGateway(t, {}, { clock, configs: [folder] })
  const send = (row: Sample) => outcomesOf(gateway, 'held', [row], { deadlineMs: 60_000, trainingStep: 1 })
  const rows = group('a', ['3', '1', '2'])
  const together = (await outcomesOf(gateway, 'held', rows)).map(resultOf)
  const sent: ReturnType<typeof send>[] = []
  for (const row of rows) {
    sent.push(send(row))
    await turns()
    await gateway.reload()
  }
  t.strictSame((await Promise.all(sent)).flat().map(resultOf), together)
  t.strictSame((await send(rows[1] as Sample)).map(resultOf), [together[1]], 'a retry after it, too')

  const [first, second] = group('b', ['1', '2']) as [Sample, Sample]
  const before = send(first)
  await turns()
  write({ weight: 2 })
  await gateway.reload()
  const after = send(second)
  await turns()
  clock.advance(5000)
  t.strictSame(
    (await Promise.all([before, after])).flat().map(resultOf),
    ['group_incomplete', 'group_incomplete'],
    'answers of two configs are never compared',
  )
})

t.test('replaced configs stay open while they compare answers for newer ones', async (t) => {
  const held: (() => void)[] = []
  const server = await scriptedServer((seen, response) => {
    held.push(() => response.end(JSON.stringify(completion(seen, 'A'))))
  })
  t.teardown(() => server.kill())
  const judge = { model: 'm', instances: [server.url], ...probesOff }
  const folder = t.testdir({
    'held.json': JSON.stringify({ models: { judge }, group: { wait_s: 5 }, steps: [duel] }),
  })
  const gateway = await testGateway(t, {}, { clock: fakeClock(), configs: [folder] })
  const [first, second] = group('a', ['1', '2']) as [Sample, Sample]
  const stays = outcomesOf(gateway, 'held', [first])
  await turns()
  await gateway.reload()
  const client = new AbortController()
  const leaves = outcomesOf(gateway, 'held', [second], { signal: client.signal })
  await server.saw(2)
  client.abort()
  t.strictSame((await leaves).map(resultOf), ['cancelled'])
  await gateway.reload()
  await turns()
  for (const answer of held) answer()
  t.strictSame((await stays).map(resultOf), [5], 'what it asked is read and counts for the one that waits')
})

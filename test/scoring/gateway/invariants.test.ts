import t from 'tap'
import { faultKinds } from '../../../src/simulator/faults.ts'
import { writeNativeResult } from '../../../src/trainers/native-result.ts'
import { outcomesOf, resultOf, sampleOf, testGateway, testModel } from '../../support/gateway.ts'
import { seeded } from '../../support/seeded.ts'
import { isWithin } from '../../support/yardstick.ts'

const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31))
t.comment(`SEED=${seed}`)

const rule = { name: 'rule', function: 'echo-rule' }
const judge = { name: 'q', function: 'digit-judge', op: 'add', weight: 0.5 }

t.test('a reward depends only on its sample, whatever happens', async (t) => {
  const shaky = await testModel(
    t,
    2,
    { policy: 'constant', constant: 1, seed },
    { timeout_s: 0.3, wait_for_instance: 0.2 },
  )
  const calm = await testModel(t, 1, { policy: 'constant', constant: 1, seed })
  const hanging = await testModel(t, 1)
  const mortal = await testModel(
    t,
    2,
    { policy: 'constant', constant: 1, latencyMedianMs: 10 },
    { wait_for_instance: 2 },
  )
  const models = { shaky: shaky.config, calm: calm.config, hanging: hanging.config, mortal: mortal.config }
  const gateway = await testGateway(t, {
    gateway: { models },
    faulty: { steps: [rule, { ...judge, model: 'shaky' }] },
    strict: { steps: [rule, { ...judge, model: 'calm' }] },
    ruled: {
      steps: [rule, { name: 'other', function: 'echo-rule', options: { plus: 0.25 }, op: 'mul', weight: 2 }],
    },
    slow: { steps: [rule, { ...judge, model: 'hanging' }] },
    asked: { steps: [{ ...judge, model: 'hanging' }] },
    judged: { steps: [{ ...judge, model: 'mortal' }] },
  })
  hanging.servers[0]?.set({ kind: 'hang' })
  const inFlight = (name: string) =>
    gateway
      .models()
      .filter((model) => model.name === name)
      .flatMap(({ instances }) => instances.map((instance) => instance.inFlight))

  await t.test('every row is scored or invalid, and no upstream fault creates a number', async (t) => {
    const random = seeded(seed)
    const kinds = faultKinds.filter((kind) => kind !== 'slow')
    for (let round = 0; round < 6; round++) {
      for (const server of shaky.servers) {
        const drawn = Array.from({ length: 3 }, () => kinds[Math.floor(random() * kinds.length)] ?? '500')
        server.set(...drawn.map((kind) => ({ kind, rate: random() })))
      }
      // Every row is a different question: 0.0, 1.00, 0.000 and so on.
      const rows = Array.from({ length: 20 }, (_, row) =>
        sampleOf(`${row % 2}.${'0'.repeat(20 * round + row + 1)}`),
      )
      const outcomes = await outcomesOf(gateway, round === 0 ? 'strict' : 'faulty', rows)
      t.equal(outcomes.length, rows.length)
      for (const [index, outcome] of outcomes.entries()) {
        const expected = (index % 2) + 0.5
        if (outcome.valid || round === 0)
          t.equal(resultOf(outcome), expected, `round ${round}, row ${index}: the reward is the true one`)
        else
          t.match(
            outcome.failure.kind,
            /^(judge_|overloaded)/,
            `round ${round}, row ${index}: ${outcome.failure.detail}`,
          )
      }
    }
    t.strictSame(inFlight('shaky'), [0, 0], 'nothing is left in flight')
  })

  await t.test(
    'order, batch size and repetition never change a reward, and rules are bit-identical',
    async (t) => {
      const random = seeded(seed + 1)
      const rows = Array.from({ length: 60 }, (_, row) => {
        const drawn = random()
        const response =
          drawn < 0.1
            ? 'throw'
            : drawn < 0.2
              ? 'null'
              : drawn < 0.3
                ? 'nan'
                : String(Math.round(drawn * 100) / 100)
        return sampleOf(response, { id: `row-${row}` })
      })
      const bytesOf = async (order: readonly (typeof rows)[number][], size: number) => {
        const found = new Map<string, string>()
        for (let from = 0; from < order.length; from += size) {
          for (const outcome of await outcomesOf(gateway, 'ruled', order.slice(from, from + size))) {
            found.set(outcome.id, JSON.stringify(writeNativeResult(outcome)))
          }
        }
        return rows.map(({ id }) => found.get(id))
      }
      const expected = await bytesOf(rows, rows.length)
      const shuffled = rows
        .map((row) => ({ row, key: random() }))
        .sort((a, b) => a.key - b.key)
        .map(({ row }) => row)
      t.strictSame(await bytesOf(shuffled, rows.length), expected, 'shuffled')
      t.strictSame(await bytesOf(rows, 1), expected, 'one by one')
      t.strictSame(await bytesOf(shuffled, 7), expected, 'in sevens')
    },
  )

  await t.test('a hanging judge fails at the deadline and other steps keep their scores', async (t) => {
    const started = performance.now()
    const told: number[] = []
    const job = { deadlineMs: 200, onOutcome: (index: number) => void told.push(index) }
    const [outcome] = await outcomesOf(gateway, 'slow', [sampleOf('1')], job)
    t.ok(isWithin(performance.now() - started, 450), 'within 250 ms of the deadline')
    while (inFlight('hanging')[0] !== 0) await new Promise(setImmediate)
    for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate)
    t.strictSame(told, [0], 'what comes too late is no second outcome')
    t.match(resultOf(outcome), /^(deadline|judge_timeout)$/)
    t.match(outcome?.terms[0], { status: 'scored' })
  })

  await t.test('when the client leaves, its questions are cancelled and its rows say so', async (t) => {
    const client = new AbortController()
    const asked = outcomesOf(gateway, 'asked', [sampleOf('1')], { signal: client.signal })
    while (inFlight('hanging')[0] !== 1) await new Promise(setImmediate)
    client.abort()
    t.equal(resultOf((await asked)[0]), 'cancelled')
    t.equal(gateway.inFlight, 0)
    for (const until = Date.now() + 5000; inFlight('hanging')[0] !== 0 && Date.now() < until; )
      await new Promise(setImmediate)
    t.strictSame(inFlight('hanging'), [0], 'no call is under way that nobody waits for')
  })

  await t.test(
    'killing one of two servers loses no row; killing both makes every row judge_unreachable',
    async (t) => {
      const rows = (from: number) => Array.from({ length: 200 }, (_, row) => sampleOf(String(from + row)))
      const underLoad = outcomesOf(gateway, 'judged', rows(0))
      while ((mortal.servers[0]?.stats().sequences.finished ?? 0) < 5) await new Promise(setImmediate)
      await mortal.servers[0]?.close()
      t.strictSame([...new Set((await underLoad).map(resultOf))], [0.5])
      await mortal.servers[1]?.close()
      const after = await outcomesOf(gateway, 'judged', rows(1000), { deadlineMs: 5000 })
      t.equal(after.length, 200)
      t.strictSame([...new Set(after.map(resultOf))], ['judge_unreachable'])
    },
  )
})

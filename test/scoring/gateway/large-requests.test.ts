import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import { fakeClock } from '../../support/clock.ts'
import { outcomesOf, resultOf, sampleOf, testGateway, testModel } from '../../support/gateway.ts'
import { probesOff } from '../../support/models.ts'
import { turnsOf } from '../../support/turns.ts'

const judge = { name: 'q', function: 'yes-no-judge', model: 'judge' }
const ranked = { name: 'ranked', function: 'pairwise-judge', model: 'judge', pairs: { scheme: 'ring' } }
const turn = () => new Promise((resolve) => setImmediate(resolve))

t.test('a row that waits for its group takes little memory (M2)', async (t) => {
  const { config } = await testModel(t, 1, { faults: [{ kind: 'hang' }] }, { max_in_flight: 4, ...probesOff })
  const clock = fakeClock()
  const gateway = await testGateway(t, { ranked: { models: { judge: config }, steps: [ranked] } }, { clock })
  const rows = Array.from({ length: 40_000 }, (_, index) =>
    sampleOf(index % 2 === 0 ? 'yes' : 'no', { id: `${index}`, prompt: 'p', group: { id: '1' } }),
  )
  const before = heldBytes()
  const scoring = outcomesOf(gateway, 'ranked', rows, { deadlineMs: 1000 })
  while ((gateway.models()[0]?.instances[0]?.inFlight ?? 0) === 0) await turn()
  const each = (heldBytes() - before) / rows.length
  t.ok(each < 2000, `${Math.round(each)} bytes for each row`)
  clock.advance(1000)
  t.ok((await scoring).every((outcome) => resultOf(outcome) === 'deadline'))
})

t.test('more questions than the limit in progress are all answered, in order', async (t) => {
  const { config, servers } = await testModel(t, 1, { policy: 'constant', constant: 1 })
  const gateway = await testGateway(t, {
    gateway: { models: { judge: config } },
    judged: { steps: [{ ...judge, sampling: { temperature: 0 } }] },
  })
  // Equal questions are merged, so that the servers have little to do.
  const rows = Array.from({ length: 5000 }, (_, index) => sampleOf('a', { id: `${index}`, prompt: 'p' }))
  const outcomes = await outcomesOf(gateway, 'judged', rows)
  t.ok(outcomes.every((outcome, index) => outcome.id === `${index}` && resultOf(outcome) === 1))
  t.ok((servers[0]?.stats().sequences.finished ?? 0) < 10)
})

t.test('rows that wait for their group never block its other rows', async (t) => {
  const gateway = await testGateway(t, {
    grouped: {
      steps: [
        { name: 'first', function: 'exact-match' },
        { name: 'rank', function: 'rank-rule', op: 'add', when: 'first >= 0' },
        { name: 'last', function: 'exact-match', op: 'add', when: 'scored(rank) && rank >= 0' },
      ],
    },
  })
  // More rows than may be in progress at once, with the members of each group as far apart as possible.
  const groups = 4200
  const rows = Array.from({ length: 2 * groups }, (_, index) =>
    sampleOf(index < groups ? '1' : '2', {
      id: `${index}`,
      prompt: `p${index % groups}`,
      groundTruth: '1',
      group: { id: `${index % groups}`, size: 2 },
    }),
  )
  const outcomes = await outcomesOf(gateway, 'grouped', rows)
  t.equal(outcomes.filter(({ valid }) => valid).length, rows.length)
})

t.test('a group that spans a large request is scored, and on_invalid applies to each row', async (t) => {
  const gateway = await testGateway(t, {
    mean: { steps: [{ name: 'rule', function: 'echo-rule' }], on_invalid: { group_mean: 0.25 } },
  })
  const rows = Array.from({ length: 4000 }, (_, index) =>
    sampleOf(index % 100 === 0 ? 'throw' : '1', { id: `${index}`, group: { id: 'all', index: 0 } }),
  )
  const outcomes = await outcomesOf(gateway, 'mean', rows)
  t.equal(outcomes.filter(({ valid }) => valid).length, 3960)
  t.ok(outcomes.every((outcome) => outcome.valid || outcome.substitute === 1))
})

t.test('questions in progress are bounded, and a deadline or disconnect ends every row', async (t) => {
  const { config } = await testModel(t, 1, { faults: [{ kind: 'hang' }] }, { max_in_flight: 4, ...probesOff })
  const clock = fakeClock()
  const gateway = await testGateway(
    t,
    { gateway: { models: { judge: config } }, judged: { steps: [judge] } },
    { clock },
  )
  const rows = Array.from({ length: 6000 }, (_, index) =>
    sampleOf(`a${index}`, { id: `${index}`, prompt: `p${index}` }),
  )
  const waiting = () => gateway.models()[0]?.waiting ?? 0
  for (const ending of ['deadline', 'cancelled']) {
    const told = new Uint8Array(rows.length)
    const client = new AbortController()
    const scoring = outcomesOf(gateway, 'judged', rows, {
      deadlineMs: 1000,
      signal: client.signal,
      onOutcome(index) {
        told[index] = (told[index] ?? 0) + 1
      },
    })
    while (waiting() < 4000) await turn()
    for (let count = 0; count < 100; count++) await turn()
    t.ok(waiting() <= 4096, `${waiting()} of 6,000 questions wait`)
    if (ending === 'deadline') clock.advance(1000)
    else client.abort()
    const outcomes = await scoring
    t.ok(outcomes.every((outcome, index) => outcome.id === `${index}` && resultOf(outcome) === ending))
    t.ok(told.every((times) => times === 1))
    t.equal(gateway.inFlight, 0)
    t.equal(waiting(), 0)
  }
})

t.test('a group of 65,536 rows is found, refused and told in slices (M1)', async (t) => {
  const { config } = await testModel(t, 1, { policy: 'constant', constant: 1 })
  const gateway = await testGateway(t, { ranked: { models: { judge: config }, steps: [ranked] } })
  const rows = Array.from({ length: 65_536 }, (_, index) =>
    sampleOf(`${index}`, { id: `${index}`, group: { id: '1' } }),
  )
  const most = 60
  const { ms } = await turnsOf(most, async () => {
    const outcomes = await outcomesOf(gateway, 'ranked', rows)
    t.ok(outcomes.every((outcome, index) => outcome.id === `${index}` && resultOf(outcome) === 'bad_sample'))
  })
  t.ok(ms < most, `${ms} ms`)
})

/** Bytes of the heap that are in use after a collection. */
function heldBytes(): number {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
  return process.memoryUsage().heapUsed
}

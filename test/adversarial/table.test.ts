/** The core of the table that `npm run test:adversarial` prints, all of which is a step of its own: no request that the limits allow stops a gateway or its loop. */
import t from 'tap'
import { broken } from './bounds.ts'
import { cheapRule, openTarget } from './run.ts'

const core: ReadonlySet<string> = new Set([
  '1,000,000 rows',
  '140,000 rows in one group',
  '512 judged rows',
  '32,768 rows with a NaN each',
  'a row whose extra_info is 16 MiB of []',
  'samples are 16 MiB of []',
  'a row with 1,000,000 keys',
  'lists 100,000 deep',
  'a prompt of 16 MiB',
  '256 MiB gzipped',
  'POST /v1/chat/completions: 16 MiB of lists',
  'POST /admin/reload: one text of 16 MiB',
  'NeMo Gym: a row with 44,000 fields',
  'NeMo Gym: 20 rows with 20,000 fields at once',
  '65536 rows of messages, mean of siblings',
  'OpenRLHF: 65,536 queries, labels NaN',
])

// Counting blocks makes time mean nothing, and CI sends the whole table without it.
const skip = process.env.NODE_V8_COVERAGE !== undefined && 'V8 counts coverage'

t.test('no request that the limits allow stops a gateway or its loop (M1 to M4)', { skip }, async (t) => {
  const target = await openTarget(cheapRule)
  t.teardown(() => target.stop())
  const chosen = (await target.attacks()).filter(({ name }) => core.has(name))
  t.equal(chosen.length, core.size, 'each of them is in the table')

  for (const attack of chosen)
    await t.test(`${attack.name}: answered within the bounds of time, memory and loop`, async (t) => {
      const cost = await target.strike(attack)
      t.comment(
        `block ${Math.round(cost.blockMs)} ms, CPU ${Math.round(cost.cpuMs)} ms, peak ${Math.round(cost.peakMib)} MiB, ${cost.slowness.toFixed(1)} times as slow`,
      )
      t.equal(broken(cost), null)
    })
})

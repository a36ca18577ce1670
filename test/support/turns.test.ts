/** A bound on the event loop's turns gives way to a slow machine, and to nothing else: each of these blocks it for too long. */
import t from 'tap'
import { broken } from '../adversarial/bounds.ts'
import { openTarget } from '../adversarial/run.ts'
import { turnsOf } from './turns.ts'
import { block } from './yardstick.ts'

t.test('a turn that is too long is found, however slow the machine', async (t) => {
  const turn = (ms: number) => turnsOf(100, async () => block(ms))
  t.ok((await turn(200)).ms > 100)
  t.ok((await turn(20)).ms < 100)
})

t.test('a gateway whose loop is blocked breaks the bound in each of its tries', async (t) => {
  const target = await openTarget()
  t.teardown(() => target.stop())
  let tries = 0
  const strike = (ms: number) =>
    target.strike({
      name: 'one row',
      path: '/v1/score',
      body: () => Buffer.from('{"reward":"rule","samples":[{"response":"1"}]}'),
      check: () => {
        tries += 1
        target.gateway.block(ms)
      },
    })
  t.match(broken(await strike(250)), /^the loop was blocked for \d+ ms$/)
  t.equal(tries, 3)
  t.equal(broken(await strike(10)), null)
})

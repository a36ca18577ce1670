import t from 'tap'
import { Member } from '../../src/models/balance.ts'
import type { Instance } from '../../src/models/instance.ts'
import { worthwhile } from '../../src/models/slowness.ts'

const member = (latencyMs: number, more: object = {}): Member => {
  const instance = { latencyMs, limit: 10, inFlight: 1, lastBegan: 0, alive: true, ...more }
  return new Member(instance as unknown as Instance, 1)
}

const line = (waiting: number, stoodMs = 0) => ({ waiting, stoodMs })

t.test('a slow instance is asked only where no other would answer sooner', async (t) => {
  const quick = member(200)
  const slow = member(1000)
  const members = [quick, member(210), slow]
  t.notOk(worthwhile(members, line(0), 0)(slow), 'nobody waits')
  t.ok(worthwhile(members, line(0), 0)(quick))
  t.notOk(worthwhile(members, line(50), 0)(slow), '51 places later is 0.7 s')
  t.ok(worthwhile(members, line(100), 0)(slow), '101 places later is 1.2 s')
  t.ok(worthwhile(members, line(1, 1000), 0)(slow), 'the line stands still')
})

t.test('what is not known, not much slower or alone is always worth asking', async (t) => {
  const unknown = member(0)
  t.ok(worthwhile([unknown], line(0), 0)(unknown))
  t.ok(worthwhile([member(200), unknown], line(0), 0)(unknown))
  const near = member(390)
  t.ok(worthwhile([member(200), near], line(0), 0)(near))
  const jittery = member(90)
  t.ok(worthwhile([member(2), jittery], line(0), 0)(jittery), 'below 100 ms a difference is chance')
  const alone = member(1000)
  t.ok(worthwhile([member(200, { alive: false }), alone], line(0), 0)(alone))
})

t.test('an instance that was slow is tried again after a while', async (t) => {
  const slow = member(1000, { inFlight: 0, lastBegan: 500 })
  const members = [member(200), slow]
  t.notOk(worthwhile(members, line(0), 10_500)(slow))
  t.ok(worthwhile(members, line(0), 10_501)(slow))
})

import t from 'tap'
import { createApp } from '../../src/http/app.ts'
import { openMetrics } from '../../src/telemetry/metrics/metrics.ts'
import { fakeClock } from '../support/clock.ts'
import { testGateway } from '../support/gateway.ts'

t.test('a gateway that leaves says so, and still scores what comes, a request a connection', async (t) => {
  const clock = fakeClock()
  const rewards = {
    gateway: { limits: { leave_s: 2 } },
    ruled: { steps: [{ name: 'rule', function: 'echo-rule' }] },
  }
  const gateway = await testGateway(t, rewards, { clock })
  const metrics = openMetrics({ version: 'test', inFlight: () => 0 })
  const app = await createApp({ gateway, metrics, bodyLimit: 1 << 20 })
  t.teardown(() => app.close())
  const score = () =>
    app.inject({
      method: 'POST',
      url: '/v1/score',
      payload: { reward: 'ruled', samples: [{ response: '1' }] },
    })
  t.equal((await app.inject('/readyz')).statusCode, 200)
  t.not((await score()).headers.connection, 'close')
  let hasLeft = false
  const left = gateway.leave().then(() => {
    hasLeft = true
  })
  const ready = await app.inject('/readyz')
  t.equal(ready.statusCode, 503)
  t.match(ready.json(), { ready: false, missing: ['the gateway is closing'] })
  t.equal((await app.inject('/livez')).statusCode, 200)
  clock.advance(1999)
  const scored = await score()
  t.match(scored.json(), { results: [{ valid: true }] })
  t.equal(scored.headers.connection, 'close')
  t.notOk(hasLeft)
  clock.advance(1)
  await left
  await gateway.close()
  t.equal((await score()).statusCode, 503, 'then it closes')
})

import t from 'tap'
import { type Gateway, GatewayError, openGateway } from '../src/index.ts'

const folder = t.testdir({
  'half.yaml': 'steps: [{ name: rule, function: exact-match, weight: 0.5 }]\n',
  'wrong.json': '{"steps":[{"name":"rule","function":"exact-macth"}]}',
})
const gateway: Gateway = await openGateway({ configs: [`${folder}/half.yaml`] })
t.teardown(() => gateway.close(0))

t.test('a rollout is a response and what is known beside it', async (t) => {
  t.strictSame(gateway.rewards, ['half'])
  t.strictSame(gateway.missing(), [])
  const told: number[] = []
  const { outcomes, version } = await gateway.score({
    reward: 'half',
    rollouts: [
      { response: 'Paris', groundTruth: 'Paris' },
      { id: 'b', response: 'Rome', groundTruth: 'Paris' },
      { response: 'Rome' },
    ],
    onOutcome: (index) => told.push(index),
  })
  t.match(version, /^[0-9a-f]{16}$/)
  t.match(outcomes, [
    { id: '0', valid: true, reward: 0.5 },
    { id: 'b', valid: true, reward: 0 },
    { id: '2', valid: false, failure: { kind: 'bad_sample', detail: /the row has none/ } },
  ])
  t.strictSame(told.sort(), [0, 1, 2])
})

t.test('a refused job rejects, and so does a config with a mistake', async (t) => {
  await t.rejects(gateway.score({ reward: 'hlaf', rollouts: [] }), {
    code: 'RG_REWARD_UNKNOWN',
    message: /did you mean 'half'/,
  })
  const error = await openGateway({ configs: [`${folder}/wrong.json`] }).catch((error: unknown) => error)
  t.ok(error instanceof GatewayError)
  t.match(error, { code: 'RG_CONFIG_INVALID', problems: [{ message: /did you mean 'exact-match'/ }] })
})

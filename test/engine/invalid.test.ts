import t from 'tap'
import { writeNativeResult } from '../../src/wire/native-result.ts'
import { nativeSample, readNativeRows } from '../../src/wire/native-sample.ts'
import { outcomesOf, sampleOf, testGateway } from '../support/gateway.ts'

const rule = { name: 'rule', function: 'echo-rule' }

t.test('the published example: rewards 1 1 0 0 with the second invalid', async (t) => {
  const gateway = await testGateway(t, { siblings: { steps: [rule], on_invalid: { group_mean: 0.25 } } })
  const rows = ['1', 'throw', '0', '0'].map((response) => sampleOf(response, { group: { id: 'g' } }))
  const outcomes = await outcomesOf(gateway, 'siblings', rows)
  const given = outcomes.map((one) => (one.valid ? one.reward : (one.substitute ?? Number.NaN)))
  const mean = given.reduce((sum, reward) => sum + reward, 0) / given.length
  const advantages = given.map((reward) => Number((reward - mean).toFixed(3)))
  t.strictSame(advantages, [0.667, 0, -0.333, -0.333], 'its own advantage is 0, the others are as without it')
  t.match(outcomes[1], { valid: false, failure: { kind: 'rule_error' } })
  const alone = await outcomesOf(gateway, 'siblings', [sampleOf('throw', { group: { id: 'h' } })])
  t.match(alone[0], { valid: false, substitute: 0.25 }, 'without siblings the fallback holds')
  const all = await outcomesOf(gateway, 'siblings', [
    sampleOf('1', { prompt: 'same' }),
    sampleOf('throw', { prompt: 'same' }),
    sampleOf('0', { prompt: 'other' }),
  ])
  t.match(all[1], { substitute: 1 }, 'without a group id the prompt makes the group')
})

t.test('a request may say what holds in place of the reward for its invalid rows', async (t) => {
  const gateway = await testGateway(t, { plain: { steps: [rule], on_invalid: 7 } })
  const rows = ['1', 'throw', '0'].map((response) => sampleOf(response, { group: { id: 'g' } }))
  const given = async (onInvalid?: Parameters<typeof gateway.score>[0]['onInvalid']) =>
    (await outcomesOf(gateway, 'plain', rows, onInvalid ? { onInvalid } : {}))[1]
  t.match(await given(), { substitute: 7 })
  t.match(await given({ kind: 'number', value: -1 }), { substitute: -1 })
  t.match(await given({ kind: 'group_mean', fallback: null }), { substitute: 0.5 })
  t.match(await given({ kind: 'null' }), { substitute: null })
  await t.rejects(given({ kind: 'fail' }), { code: 'RG_SAMPLES_FAILED' })
})

t.test('every row has the same keys, whatever became of it', async (t) => {
  const gateway = await testGateway(t, {
    two: {
      gate: 'rule == 1',
      steps: [rule, { name: 'other', function: 'echo-rule', gated: true, options: { plus: 1 } }],
    },
  })
  const rows = readNativeRows(
    [...['1', '0', 'throw', 'null', 'nan'].map((response) => ({ response })), { response: 5 }, 'no row'],
    [],
  )
  t.ok(nativeSample.safeParse({ response: '1' }).success)
  const keys = (value: object): unknown =>
    Object.entries(value).map(([key, inner]) => [
      key,
      ['terms', 'metrics'].includes(key) ? Object.keys(inner) : null,
      key === 'terms' ? Object.values(inner).map((term) => Object.keys(term as object).sort()) : null,
    ])
  const results = (await outcomesOf(gateway, 'two', rows)).map(writeNativeResult)
  t.ok(results.some(({ valid }) => valid) && results.some(({ valid }) => !valid))
  const [first] = results
  for (const result of results) t.strictSame(keys(result), keys(first ?? {}), result.id)
})

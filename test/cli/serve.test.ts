import { join } from 'node:path'
import t from 'tap'
import { runCommand } from '../support/command-line.ts'

t.test('serve answers until it is asked to end, then exits 0', async (t) => {
  const folder = t.testdir({ 'one.yaml': 'steps: [{ name: rule, function: gsm8k-progressive }]' })
  const ending = new AbortController()
  const args = ['serve', '--config', join(folder, 'one.yaml'), '--port', '0', '--log-level', 'silent']
  const served = runCommand(args, {
    signal: ending.signal,
    onStdout: async (text) => {
      const url = /at (http:\S+)/.exec(text)?.[1]
      const response = await fetch(`${url}/v1/score`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ reward: 'one', samples: [{ response: 'so\n#### 4', ground_truth: '4' }] }),
      })
      t.match(await response.json(), { results: [{ reward: 1 }] })
      ending.abort()
    },
  })
  t.match(await served, { code: 0, stdout: /serves one at/ })
})

t.test('a key that is missing is told of, and nothing listens', async (t) => {
  const folder = t.testdir({
    'gateway.yaml': 'keys: { ops: { env: REWARD_GATEWAY_TEST_KEY, scopes: [admin] } }',
    'one.yaml': 'steps: [{ name: rule, function: gsm8k-progressive }]',
  })
  const { code, stderr } = await runCommand(['serve', '--config', folder, '--port', '0'])
  t.equal(code, 1)
  t.match(stderr, /keys\.ops.*REWARD_GATEWAY_TEST_KEY is not set/)
})

t.test('the demo scores 160 answers in groups of 4 with a rule, a gate and two judges', async (t) => {
  const { code, stdout } = await runCommand(['demo'])
  t.equal(code, 0)
  t.match(stdout, /160 samples/)
  t.match(stdout, /right +40 +1\.\d+/)
  t.match(stdout, /80 asked, 240 saved by the gate|saved by the gate/)
  t.match(stdout, /the answers are equal/)
  t.match(stdout, /\/docs +metrics: /)
})

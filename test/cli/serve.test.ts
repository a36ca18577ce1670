import { writeFileSync } from 'node:fs'
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

t.test('a changed file and a hangup reload; a mistake leaves what was served', async (t) => {
  const rule = 'steps: [{ name: rule, function: gsm8k-progressive }]'
  const folder = t.testdir({ 'one.yaml': rule })
  const ending = new AbortController()
  let hangUp = () => {}
  const args = ['serve', '--config', folder, '--port', '0', '--log-level', 'silent', '--watch']
  const served = runCommand(args, {
    signal: ending.signal,
    onHangup(listener) {
      hangUp = listener
      return () => {
        hangUp = () => t.fail('nobody listens any more')
      }
    },
    onStdout: async (text) => {
      const url = /at (http:\S+)/.exec(text)?.[1]
      const metric = async (result: string) =>
        new RegExp(`reloads_total.result="${result}". (\\d+)`).exec(
          await (await fetch(`${url}/metrics`)).text(),
        )?.[1]
      const until = async (result: string, count: string) => {
        while ((await metric(result)) !== count) await new Promise((resolve) => setTimeout(resolve, 50))
      }
      const names = async () =>
        ((await (await fetch(`${url}/v1/rewards`)).json()) as { rewards: { name: string }[] }).rewards.map(
          ({ name }) => name,
        )
      writeFileSync(join(folder, 'two.yaml'), rule)
      await until('served', '1')
      t.strictSame(await names(), ['one', 'two'], 'a file that came is served')
      writeFileSync(join(folder, 'two.yaml'), 'steps: 1')
      hangUp()
      await until('refused', '1')
      t.strictSame(await names(), ['one', 'two'], 'a mistake changes nothing')
      ending.abort()
    },
  })
  t.equal((await served).code, 0)
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

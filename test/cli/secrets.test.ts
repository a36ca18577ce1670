// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables of configs look so
import { join } from 'node:path'
import t from 'tap'
import { hideSecrets, isSecretName } from '../../src/core/secrets.ts'
import { createApp } from '../../src/serving/http/app.ts'
import { openMetrics } from '../../src/serving/telemetry/metrics/metrics.ts'
import { runCommand } from '../support/command-line.ts'
import { testGateway } from '../support/gateway.ts'

const env = { JUDGE_TOKEN: 'tok3n-/s3cret+1', HF_API_KEY: 'hf_0123456789', PLAIN: 'visible' }

/** All forms in which the token is readable. */
const spelt = /tok3n|s3cret|hf_0123456789|hunter2/

t.test(
  'check refuses the same addresses as serve, with their places, and shows no secret (M30)',
  async (t) => {
    const addresses: [string, RegExp][] = [
      ['http://user:${JUDGE_TOKEN}@h:1', /must be the http:\/\/ or https:\/\/ address/],
      ['http://user:${HF_API_KEY}@h:1', /must be an address without user and password/],
      ['http://user:hunter2@h:1', /must be an address without user and password/],
      ['https://hunter2@h', /must be an address without user and password/],
      ['http://h:1/v1?key=hunter2', /must be an address without '\?'/],
      ['http://h:1/?', /must be an address without '\?'/],
      ['http://h:1/#hunter2', /must be an address without '#'/],
      ['ftp://user:hunter2@h', /must be the http:\/\/ or https:\/\/ address/],
      ['user:hunter2@h', /must be the http:\/\/ or https:\/\/ address/],
      ['http://h/${JUDGE_TOKEN}/v1', /holds a secret/],
      ['http://h/${HF_API_KEY}', /holds a secret/],
    ]
    for (const [address, message] of addresses)
      for (const place of [address, { url: address }]) {
        const folder = t.testdir({
          'gateway.yaml': `models:\n  judge:\n    model: m\n    instances:\n      - ${JSON.stringify(place)}\n`,
          'one.yaml': 'steps: [{ name: q, function: yes-no-judge, model: judge }]\n',
        })
        const [checked, served] = [
          await runCommand(['check', folder], { env }),
          await runCommand(['serve', '--config', folder, '--port', '0', '--log-level', 'silent'], { env }),
        ]
        for (const { stdout, stderr } of [checked, served]) {
          t.match(
            stderr,
            /^RG_CONFIG_INVALID: .*\n {2}.*gateway\.yaml:5:\d+: models\.judge\.instances\[0\]/,
            address,
          )
          t.match(stderr, message, address)
          t.notMatch(stdout + stderr, spelt, address)
        }
        t.equal(checked.code, 1)
        t.equal(served.code, 2)
      }
  },
)

t.test('the value of a secret variable never appears (M30)', async (t) => {
  const one = {
    description: 'asks with ${JUDGE_TOKEN}',
    steps: [{ name: 'q', function: 'regex-match', options: { pattern: '${JUDGE_TOKEN}', place: 'whole' } }],
  }

  t.test('in what check explains', async (t) => {
    const folder = t.testdir({ 'one.json': JSON.stringify(one) })
    const { stdout, stderr } = await runCommand(['check', join(folder, 'one.json')], { env })
    t.notMatch(stdout + stderr, spelt)
    t.match(stdout, /asks with \$\{JUDGE_TOKEN\}/, stderr)
  })

  t.test('in a mistake that check names', async (t) => {
    const typo = t.testdir({ 'two.yaml': 'steps: [{ name: q, function: "${HF_API_KEY}" }]' })
    const wrong = await runCommand(['check', join(typo, 'two.yaml')], { env })
    t.notMatch(wrong.stdout + wrong.stderr, spelt)
    t.match(wrong.stderr, /\$\{HF_API_KEY\}/)
  })

  t.test('in the API', async (t) => {
    const key = 'admin-key-0123456789'
    const model = {
      model: 'm',
      instances: [],
      allow: ['http://h*'],
      api_key_env: 'HF_API_KEY',
      health: { interval_s: 0 },
    }
    const gateway = await testGateway(
      t,
      { gateway: { models: { m: model }, keys: { ops: { env: 'OPS', scopes: ['admin'] } } }, one },
      { env: { ...env, OPS: key } },
    )
    const app = await createApp({
      gateway,
      metrics: openMetrics({ version: 'test', inFlight: () => 0 }),
      bodyLimit: 4096,
    })
    t.teardown(() => app.close())
    const headers = { authorization: `Bearer ${key}` }

    await t.test('whose configs name the variable', async (t) => {
      const config = await app.inject({ url: '/v1/rewards/one', headers })
      t.match(config.json(), { config: { steps: [{ options: { pattern: '$' + '{JUDGE_TOKEN}' } }] } })
    })

    await t.test('where an address with a secret is refused', async (t) => {
      for (const url of ['http://u:hunter2@h:1', 'http://h:1/?key=hunter2', 'hunter2']) {
        const added = await app.inject({
          method: 'POST',
          url: '/admin/models/m/instances',
          headers,
          payload: { url },
        })
        t.equal(added.statusCode, 400)
        t.match(added.json(), {
          error: { code: 'RG_REQUEST_INVALID', message: /address of an instance must be/ },
        })
        t.notMatch(added.body, spelt)
      }
    })

    for (const url of [
      '/v1/models',
      '/v1/rewards',
      '/v1/rewards/one',
      '/admin/models',
      '/metrics',
      '/openapi.json',
    ])
      await t.test(`at ${url}`, async (t) => {
        const { statusCode, body } = await app.inject({ url, headers })
        t.equal(statusCode, 200)
        t.notMatch(body, spelt)
      })
  })
})

t.test('other variables are shown, and short or common values are not hidden', async (t) => {
  const folder = t.testdir({
    'one.yaml': 'description: ${PLAIN} ${SHORT_KEY}\nsteps: [{ name: r, function: gsm8k }]\n',
  })
  const { stdout } = await runCommand(['check', join(folder, 'one.yaml')], {
    env: { ...env, SHORT_KEY: 'abc' },
  })
  t.match(stdout, /visible abc/)
  for (const name of ['PWD', 'OLDPWD', 'HOST', 'JUDGE_URL', 'KEYBOARD', 'TOKENS_MAX'])
    t.notOk(isSecretName(name), name)
  for (const name of [
    'HF_TOKEN',
    'OPENAI_API_KEY',
    'apikey',
    'DB_PASSWORD',
    'DB_PWD',
    'S3_SECRET',
    'JUDGE_KEY_2',
  ])
    t.ok(isSecretName(name), name)
})

t.test('hiding secrets takes linear time', async (t) => {
  for (const hostile of ['a://'.repeat(50_000), `http://${'a'.repeat(200_000)}`, '@'.repeat(200_000)]) {
    const began = process.cpuUsage()
    hideSecrets(`${hostile}@`)
    t.ok(process.cpuUsage(began).user < 2_000_000, hostile.slice(0, 10))
  }
})

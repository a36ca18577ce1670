// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables of configs look so
import t from 'tap'
import { readConfigs } from '../../../src/scoring/plan/configs.ts'
import { runCommand } from '../../support/command-line.ts'

const read = (text: string, env: Record<string, string> = {}) =>
  readConfigs([{ file: 'gateway.yaml', text }], env)

t.test('a variable in quotes is a number, true or false where the setting wants one (M36)', async (t) => {
  const text = [
    'listen: { port: "${PORT:-8090}" }',
    'canary: { every_s: "${EVERY:-2.5}", eject: "${EJECT:-false}" }',
    'models:',
    '  m: { model: "${NAME:-m}", instances: ["${A:-http://a:1}", { url: "${B:-http://b:1}", weight: "${W:-2}" }], health: { interval_s: "${I:-0}" } }',
  ].join('\n')
  const { gateway, models, problems } = read(text)
  t.strictSame(problems, [])
  t.equal(gateway.listen.port, 8090)
  t.match(gateway.canary, { every_s: 2.5, eject: false })
  t.match(models.get('m'), {
    model: 'm',
    instances: ['http://a:1', { url: 'http://b:1', weight: 2 }],
    health: { interval_s: 0 },
  })
  t.equal(read(text, { PORT: '9000' }).gateway.listen.port, 9000)
  t.equal(read('{"listen": {"port": "${PORT:-8090}"}}').gateway.listen.port, 8090, 'JSON knows only quotes')
})

t.test('a text stays a text where the setting wants one, quoted or not (M36)', async (t) => {
  const model = (revision: string) => `models: { m: { model: "1", instances: ["http://a"]${revision} } }`
  const plain = 'models:\n  m:\n    model: ${M:-7}\n    instances: [http://a]\n    revision: ${R:-1.10}\n'
  t.strictSame(read(plain).problems, [])
  t.match(read(plain).models.get('m'), { model: '7', revision: '1.10' })
  t.match(read(plain, { R: 'true' }).models.get('m'), { revision: 'true' })
  t.match(read(model(', revision: "${R:-1.10}"')).models.get('m'), { revision: '1.10' })
})

t.test('what fits in neither way is refused as it is written (M36)', async (t) => {
  const told = (text: string, env = {}) =>
    read(text, env).problems.map(({ path, message }) => `${path} | ${message}`)
  t.strictSame(told('listen: { port: "${PORT}" }', { PORT: 'many' }), [
    'gateway.yaml:1:17: listen.port | must be a number, not a text',
  ])
  t.match(told('listen: { port: "${PORT}" }', { PORT: '70000' }), [/listen\.port \| .*65535/])
  for (const port of ['70000', '-1', '80.5'])
    t.strictSame(
      told('listen: { port: "${PORT}" }', { PORT: port }).map((one) => one.replace(/^\S+/, '')),
      told(`listen: { port: ${port} }`).map((one) => one.replace(/^\S+/, '')),
      `${port} is refused as it is without a variable`,
    )
  t.match(told('listen: { port: "8090" }'), [/must be a number, not a text/], 'only a variable is read again')
  t.strictSame(told('listen: { port: "${P}", host: "${H}" }', { P: '1', H: '2' }), [], 'each on its own')
})

t.test('aliases and merges keep both readings', async (t) => {
  const text = [
    'models:',
    '  a: &a { model: "${M:-1}", instances: ["http://a"], max_in_flight: "${N:-4}" }',
    '  b: *a',
    '  c: { <<: *a, timeout_s: "${T:-9}" }',
  ].join('\n')
  const { models, problems } = read(text)
  t.strictSame(problems, [])
  for (const name of ['a', 'b', 'c']) t.match(models.get(name), { model: '1', max_in_flight: 4 }, name)
  t.match(models.get('c'), { timeout_s: 9 })
})

t.test("a variable fits a function's options and a weight as well (M36)", async (t) => {
  const folder = t.testdir({
    'one.yaml':
      'steps: [{ name: r, function: numeric-match, weight: "${W:-0.5}", options: { relative: "${TOL:-0.01}" } }]\n',
  })
  const schema = await runCommand(['check', `${folder}/one.yaml`])
  t.match(schema.stdout, /0\.5 x its score/, schema.stderr)
})

// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables of configs look so
import { resolve } from 'node:path'
import t from 'tap'
import { nearestName } from '../../src/nearest-name.ts'
import { configTexts } from '../../src/plan/config-files.ts'
import { readConfigs } from '../../src/plan/configs.ts'

const read = (files: Record<string, string>, env: Record<string, string> = {}) =>
  readConfigs(
    Object.entries(files).map(([file, text]) => ({ file, text })),
    env,
  )

const told = (files: Record<string, string>, env: Record<string, string> = {}) =>
  read(files, env).problems.map(({ path, message }) => `${path} | ${message}`)

t.test('an empty config holds the defaults', async (t) => {
  const { gateway, models, rewards, problems } = read({ 'gateway.yaml': '{}' })
  t.strictSame(problems, [])
  t.match(gateway, {
    listen: { host: '127.0.0.1', port: 8080 },
    limits: { max_body_bytes: 16 * 1024 * 1024, deadline_s: 600 },
    functions: { folders: [], timeout_s: 5, python: { command: 'python3' } },
  })
  t.equal(models.size + rewards.length, 0)
  t.strictSame(read({}).gateway, gateway, 'also where there is no gateway file')
})

t.test('variables fill texts and numbers, once, and keep their places', async (t) => {
  const text = [
    'listen: { host: "${HOST}", port: "8${X:-080}" }',
    'limits:',
    '  max_samples: ${MANY:-12}',
    'guard:',
    '  secret_env: $${X}',
  ].join('\n')
  t.strictSame(told({ 'gateway.yaml': text }, { HOST: '${X}' }), [
    'gateway.yaml:1:34: listen.port | invalid input: expected number, received string',
    "gateway.yaml:5:15: guard.secret_env | must be the name of an environment variable, without '$'",
  ])
  const { gateway } = read(
    { 'gateway.yaml': 'listen: { host: "${HOST}" }\nlimits:\n  max_samples: ${MANY:-12}\n' },
    { HOST: '${X}' },
  )
  t.equal(gateway.listen.host, '${X}')
  t.equal(gateway.limits.max_samples, 12)
})

t.test('a variable that is not set or not well formed is a mistake, an empty one is unset', async (t) => {
  const text = 'listen:\n  host: a${NONE}b${EMPTY:-x}\n'
  t.strictSame(told({ 'gateway.yaml': text }, { EMPTY: '' }), [
    'gateway.yaml:2:9 | the environment variable NONE is not set; set it, or write ${NONE:-default}',
  ])
  t.match(told({ 'gateway.yaml': 'listen:\n  host: ${1}\n' }), [/'\$\{1\}' is not of the form/])
  t.match(told({ 'gateway.yaml': 'listen:\n  host: ${constructor}\n' }), [/constructor is not set/])
  t.match(told({ 'gateway.yaml': 'models:\n  m: { instances: [${A:-http://a}] }\n' }), [
    /put a text with a variable into quotes here/,
  ])
})

t.test('what YAML itself forbids is told with its place', async (t) => {
  t.match(told({ 'a.yaml': 'steps: [\n' }), [/^a\.yaml:\d+:\d+ \| /])
  t.match(told({ 'a.yaml': 'name: a\nname: b\nsteps: [{ name: s, function: f }]\n' }), [
    /^a\.yaml:2:1 \| Map keys/,
  ])
  t.match(told({ 'a.yaml': '? [x]\n: 1\n' }), [/a key must be a text/], 'a list as a key')
  t.match(told({ 'a.yaml': 'description: 12345678901234567890\n' }), [/too long to be exact/])
  t.match(told({ 'a.yaml': '"just a text"' }), [/a\.yaml:1:1 \| invalid input: expected object/])
  t.match(told({ 'a.yaml': 'x'.repeat(5_000_000) }), [/at most 4194304 characters/])
  const bomb = `a: &a [x, x, x, x, x, x, x, x, x, x]\n${[...'bcdefghi']
    .map((key, index) => `${key}: &${key} [${`*${'abcdefghi'[index]}, `.repeat(10)}]`)
    .join('\n')}\n`
  t.match(told({ 'a.yaml': bomb }), [/alias/i], 'aliases of aliases')
  t.match(told({ 'a.yaml': '__proto__: { name: x }\nsteps: [{ name: s, function: f }]\n' }), [
    /no setting '__proto__'/,
  ])
})

t.test('a reward has the name of its file, another one where it says so, and each name once', async (t) => {
  const step = '{"steps":[{"name":"s","function":"f"}]}'
  const { rewards } = read({
    'a/rider.yaml': step,
    'b.json': '{"name":"other","steps":[{"name":"s","function":"f"}]}',
  })
  t.strictSame(
    rewards.map(({ name }) => name),
    ['rider', 'other'],
  )
  t.match(told({ 'a/rider.yaml': step, 'rider.json': step }), [
    /a\/rider\.yaml already defines the reward 'rider'/,
  ])
  t.match(told({ 'a b.yaml': step }), [/'a b' cannot be a reward's name; add 'name:'/])
  t.match(told({ 'gateway.yaml': '{}', 'x/gateway.json': '{}' }), [/second gateway file/])
})

t.test('a model is defined once, or twice in the same way', async (t) => {
  const model = (timeout: number) =>
    `models: { m: { model: x, instances: ["http://h:1"], timeout_s: ${timeout} } }\n`
  const steps = 'steps: [{ name: s, function: f }]\n'
  t.strictSame(told({ 'gateway.yaml': model(1), 'a.yaml': model(1) + steps }), [])
  t.strictSame(told({ 'gateway.yaml': model(1), 'a.yaml': model(2) + steps }), [
    "a.yaml:1:11: models.m | gateway.yaml defines the model 'm' differently",
  ])
  t.match(told({ 'gateway.yaml': 'models: { m: { model: x }, "a b": { model: x, allow: [h] } }' }), [
    /models\.m \| has no instances/,
    /models\["a b"\] \| the name must be/,
  ])
})

t.test("a model's API key has to be there", async (t) => {
  const text = 'models: { judge: { model: m, instances: ["http://a"], api_key_env: JUDGE_KEY } }'
  const files = { 'gateway.yaml': text }
  t.match(read(files).problems, [{ path: /gateway.yaml:1:.*api_key_env/, message: /JUDGE_KEY is not set/ }])
  t.strictSame(read(files, { JUDGE_KEY: 'secret' }).problems, [])
})

t.test('paths are relative to the file that names them', async (t) => {
  const { gateway, models } = read({
    '/etc/rg/gateway.yaml':
      'functions: { folders: [own, /abs] }\nmodels: { m: { model: x, allow: [h], instances_file: list.txt } }\n',
  })
  t.strictSame(gateway.functions.folders, [resolve('/etc/rg/own'), resolve('/abs')])
  t.equal(models.get('m')?.instances_file, resolve('/etc/rg/list.txt'))
})

t.test('a folder gives its configs, a file brings the gateway file beside it', async (t) => {
  const folder = t.testdir({
    'gateway.yaml': '{}',
    'b.yml': '{}',
    'a.json': '{}',
    'reward.schema.json': '{}',
    'notes.txt': '',
    alone: { 'c.yaml': '{}' },
  })
  const names = (paths: string[]) => configTexts(paths).map(({ file }) => file.slice(folder.length + 1))
  t.strictSame(names([folder]), ['a.json', 'b.yml', 'gateway.yaml'])
  t.strictSame(names([`${folder}/b.yml`, `${folder}/b.yml`]), ['gateway.yaml', 'b.yml'])
  t.strictSame(names([`${folder}/alone/c.yaml`]), ['alone/c.yaml'])
})

t.test('the nearest name forgives slips, swaps and case, and guesses nothing else', async (t) => {
  const known = ['judge', 'Judge-B', 'rule', 'quality']
  const pairs = [
    ['jugde', 'judge'],
    ['JUDGE', 'judge'],
    ['judge-b', 'Judge-B'],
    ['qualiti', 'quality'],
    ['x', null],
    ['', null],
    ['elephant', null],
    ['q'.repeat(200), null],
  ] as const
  for (const [name, near] of pairs) t.equal(nearestName(name, known), near, name)
})

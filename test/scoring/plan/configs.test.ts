// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables of configs look so
import { resolve } from 'node:path'
import t from 'tap'
import { GatewayError } from '../../../src/core/errors.ts'
import { nearestName } from '../../../src/core/nearest-name.ts'
import { configTexts, readConfigs } from '../../../src/scoring/plan/configs.ts'
import { resolvePlans } from '../../../src/scoring/plan/resolve.ts'
import { openWith } from '../../support/function-calls.ts'

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
    functions: { timeout_s: 5, python: { command: 'python3' } },
  })
  t.strictSame(gateway.functions.folders, [])
  t.equal(models.size + rewards.length, 0)
  t.strictSame(read({}).gateway, gateway, 'also where there is no gateway file')
})

t.test('variables are substituted once and keep their places', async (t) => {
  const text = [
    'listen: { host: "${HOST}", port: "8${X:-080}x" }',
    'limits:',
    '  max_samples: ${MANY:-12}',
    'guard:',
    '  secret_env: $${X}',
  ].join('\n')
  t.strictSame(told({ 'gateway.yaml': text }, { HOST: '${X}' }), [
    'gateway.yaml:1:34: listen.port | must be a number, not a text',
    "gateway.yaml:5:15: guard.secret_env | must be the name of an environment variable, without '$'",
  ])
  const { gateway } = read(
    { 'gateway.yaml': 'listen: { host: "${HOST}" }\nlimits:\n  max_samples: ${MANY:-12}\n' },
    { HOST: '${X}' },
  )
  t.equal(gateway.listen.host, '${X}')
  t.equal(gateway.limits.max_samples, 12)
})

t.test('an unset or malformed variable is a mistake; an empty one counts as unset', async (t) => {
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

t.test('a YAML error is reported with its place', async (t) => {
  const bomb = `a: &a [x, x, x, x, x, x, x, x, x, x]\n${[...'bcdefghi']
    .map((key, index) => `${key}: &${key} [${`*${'abcdefghi'[index]}, `.repeat(10)}]`)
    .join('\n')}\n`
  const errors: Readonly<Record<string, readonly [text: string, problem: RegExp]>> = {
    'an open list': ['steps: [\n', /^a\.yaml:\d+:\d+ \| /],
    'a key twice': ['name: a\nname: b\nsteps: [{ name: s, function: f }]\n', /^a\.yaml:2:1 \| Map keys/],
    'a list as a key': ['? [x]\n: 1\n', /a key must be a string/],
    'a line that is not indented enough': [
      'steps:\n  - { name: a, function: f }\n - { name: b, function: f }\n',
      /^a\.yaml:3:1 \| this line is not indented like its neighbours/,
    ],
    'rows instead of a config': [
      '{"a": 1}\n{"a": 2}\n',
      /^a\.yaml:2:1 \| .*is this a file of rows, and no config\?/,
    ],
    'a long number': ['description: 12345678901234567890\n', /too long to be exact/],
    'no object': ['"just a text"', /a\.yaml:1:1 \| must be an object, not a text/],
    'a huge file': ['x'.repeat(5_000_000), /at most 4194304 characters/],
    'aliases of aliases': [bomb, /alias/i],
    'a key of every object': [
      '__proto__: { name: x }\nsteps: [{ name: s, function: f }]\n',
      /no setting '__proto__'/,
    ],
  }
  for (const [title, [text, problem]] of Object.entries(errors))
    t.match(told({ 'a.yaml': text }), [problem], title)
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

t.test("a model's API key must be set", async (t) => {
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

t.test('a folder gives its configs; a file adds the gateway file next to it', async (t) => {
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

const badGateway = {
  file: 'gateway.yaml',
  text: `models:
  judge:
    model: m
    instances:
      - \${JUDGE:-http://127.0.0.1:8101}
  other:
    backend: vlm
    model: m
    instances: [nonsense]
listen: { port: "x", hots: a }
`,
}

const badReward = {
  file: 'demo.yaml',
  text: `gate: rul == 1
steps:
  - name: rule
    function: gsm8k-progresive
    wieght: 1
  - { name: quality, function: yes-no-judge, model: jugde, weight: .nan }
  - { name: third, function: gsm8k-progressive, model: judge, options: { moed: published, mode: x } }
  - name: third
    function: gsm8k-progressive
    when: quality > 0 and fourht > 1
    op: plus
    after: [fourth]
    weight: { points: [[1, 0], [0, 1]], without_step: 0 }
  - { name: fourth, function: tool-call, data_source: 1, votes: { n: 0 } }
  - { name: fifth, function: of-our-own }
formula: third + ninth
on_invalid: nul
record: { folder: records }
`,
}

t.test('every mistake of every file is reported at once, with its place and the nearest name', async (t) => {
  const functions = await openWith([])
  t.teardown(() => functions.close())
  const error = await resolvePlans(readConfigs([badGateway, badReward], {}), functions).catch(
    (error) => error,
  )
  t.ok(error instanceof GatewayError)
  t.equal(error.code, 'RG_CONFIG_INVALID')
  const problems = (error as GatewayError).problems.map(({ path, message }) => `${path} | ${message}`)
  t.strictSame(problems, [
    "demo.yaml:1:7: gate | there is no step 'rul'; did you mean 'rule'?",
    "demo.yaml:4:15: steps[0].function | there is no reward function 'gsm8k-progresive'; did you mean 'gsm8k-progressive'?",
    "demo.yaml:5:5: steps[0].wieght | there is no setting 'wieght'; did you mean 'weight'?",
    "demo.yaml:6:53: steps[1].model | there is no model 'jugde'; did you mean 'judge'?",
    'demo.yaml:6:68 | .nan is not finite, or too long to be exact',
    'demo.yaml:6:68: steps[1].weight | must be a number, or a schedule with points and without_step',
    "demo.yaml:7:49: steps[2].model | goes with reward models; 'gsm8k-progressive' is a rule and asks none",
    "demo.yaml:7:74: steps[2].options.moed | 'gsm8k-progressive' has no option 'moed'; did you mean 'mode'?",
    'demo.yaml:7:97: steps[2].options.mode | gsm8k-progressive: Invalid option: expected one of "strict"|"published"',
    "demo.yaml:8:11: steps[3].name | there is another step 'third'; give each its own name",
    "demo.yaml:10:11: steps[3].when | there is no step 'fourht'; did you mean 'fourth'?",
    "demo.yaml:11:9: steps[3].op | must be 'add' or 'mul'",
    "demo.yaml:12:12: steps[3].after | the step 'fourth' comes later; move this step below it",
    'demo.yaml:13:32: steps[3].weight.points[1] | the training steps must ascend',
    'demo.yaml:14:55: steps[4].data_source | must be a text or a list of texts',
    'demo.yaml:14:70: steps[4].votes.n | too small: expected number to be >=1',
    "demo.yaml:15:30: steps[5].function | there is no reward function 'of-our-own' in the package; name the folder of its file by --reward-functions, or by functions.folders in gateway.yaml",
    "demo.yaml:16:10: formula | there is no step 'ninth'",
    "demo.yaml:17:13: on_invalid | must be null, a number, 'fail', 'group_mean' or {group_mean: <number>}",
    "demo.yaml:18:1: record | there is no setting 'record'; it is one of gateway.yaml",
    "gateway.yaml:7:14: models.other.backend | must be 'vllm' or 'sglang' or 'openai' or 'service'; did you mean 'vllm'?",
    'gateway.yaml:9:17: models.other.instances[0] | must be the http:// or https:// address of a server',
    'gateway.yaml:10:17: listen.port | must be a number, not a text',
    "gateway.yaml:10:22: listen.hots | there is no setting 'hots'; did you mean 'host'?",
  ])
})

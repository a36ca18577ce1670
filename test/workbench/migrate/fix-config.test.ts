import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import { parse } from 'yaml'
import { readConfigs } from '../../../src/scoring/plan/configs.ts'
import { fixConfig } from '../../../src/workbench/migrate/fix-config.ts'
import { cpuMs } from '../../support/cpu.ts'
import { seeded } from '../../support/seeded.ts'

const takes = (name: string) => name !== 'theirs'
const fixed = (text: string) => fixConfig(text, takes)

/** All old settings in a text, with their results. */
const cases: Readonly<Record<string, readonly [before: string, after: string]>> = {
  'a model in YAML with comments': [
    '# top\nmodels:\n  a: # of all\n    model:   m\n    reports_as: [ x,y ] # twice\n\n    max_queue_s: 3\n    hedge:\n      after: .9\n    wait_for_instance_s: 5',
    '# top\nmodels:\n  a: # of all\n    model:   m\n    served_model_aliases: [ x,y ] # twice\n\n    max_queue_wait_s: 3\n    hedge:\n      quantile: .9\n    wait_for_instance: 5',
  ],
  'a model in a flow map': [
    "models: { a: { model: m, 'reports_as': [x], hedge: {after: 0.9, budget: 0} } }\n",
    "models: { a: { model: m, 'served_model_aliases': [x], hedge: {quantile: 0.9, budget: 0} } }\n",
  ],
  'a model in JSON': [
    '{"models":{"a":{"reports_as":["x"],"max_queue_s":1}}}',
    '{"models":{"a":{"served_model_aliases":["x"],"max_queue_wait_s":1}}}',
  ],
  'what an anchor shares, where it is written': [
    'models:\n  a: &a\n    model: m\n    reports_as: [x]\n  b:\n    <<: *a\n    model: n\n  c: *a\n',
    'models:\n  a: &a\n    model: m\n    served_model_aliases: [x]\n  b:\n    <<: *a\n    model: n\n  c: *a\n',
  ],
  'trainers and their files': [
    '\uFEFFwires: # formats\r\n  slime: { truths: t.jsonl }\r\n  azure: {}\r\n',
    '\uFEFFtrainers: # formats\r\n  slime: { ground_truth_file: t.jsonl }\r\n  azure: {}\r\n',
  ],
  'values of a reward': [
    'arithmetic: "reference" # float32\nsteps:\n  - { name: a, function: f, options: { mode: sound } }\n  - name: b\n    function: g\n    pairs: { scheme: circular }\n    soft: yes\n',
    'arithmetic: "published" # float32\nsteps:\n  - { name: a, function: f, options: { mode: strict } }\n  - name: b\n    function: g\n    pairs: { scheme: ring }\n    soft: yes\n',
  ],
  'a verdict in YAML': [
    'steps:\n  - name: a\n    soft: true # mean\n  - { name: b, soft: false }\n',
    'steps:\n  - name: a\n    verdict: expected # mean\n  - { name: b, verdict: sampled }\n',
  ],
  'a verdict in JSON': [
    '{ "steps": [\n  { "soft": true, "name": "a" } ] }\n',
    '{ "steps": [\n  { "verdict": "expected", "name": "a" } ] }\n',
  ],
  'a value that an anchor shares among old ones': [
    'steps:\n  - { function: f, options: { mode: &m reference } }\n  - { function: f, options: { mode: *m } }\n',
    'steps:\n  - { function: f, options: { mode: &m published } }\n  - { function: f, options: { mode: *m } }\n',
  ],
  'a value that an alias takes from elsewhere': [
    'steps:\n  - { function: f, gated: &on true, soft: *on }\n',
    'steps:\n  - { function: f, gated: &on true, verdict: expected }\n',
  ],
  'options of functions that take the new value only': [
    'steps:\n  - { function: theirs, options: { mode: sound } }\n  - { function: ours, options: { mode: sound } }\n',
    'steps:\n  - { function: theirs, options: { mode: sound } }\n  - { function: ours, options: { mode: strict } }\n',
  ],
  'a section that held nothing else': [
    'log: {}\nlimits: # at the end\n  # proxies\n  leave_s: 1 # one\n  drain_s: 2\n',
    'log: {}\nshutdown: # at the end\n  # proxies\n  pre_stop_s: 1 # one\n  grace_s: 2\n',
  ],
  'a section in the middle, without a line at the end': [
    'limits:\n  # proxies\n  leave_s: 1 # one\n  deadline_s: 9 # nine',
    'limits:\n  deadline_s: 9 # nine\nshutdown:\n  # proxies\n  pre_stop_s: 1 # one\n',
  ],
  'a section before others': [
    'limits:\n  deadline_s: 9\n  drain_s: 1\n\n# next\nlog: {}\n',
    'limits:\n  deadline_s: 9\nshutdown:\n  grace_s: 1\n\n# next\nlog: {}\n',
  ],
  'a section in a flow map': [
    'limits: { leave_s: 1, deadline_s: 9, drain_s: 2 }\nlog: {}\n',
    'limits: { deadline_s: 9 }\nshutdown: { pre_stop_s: 1, grace_s: 2 }\nlog: {}\n',
  ],
  'a section beside one that is there': [
    'limits:\n  leave_s: 1\n  deadline_s: 9\nshutdown:\n  # patience\n  grace_s: 2\n',
    'limits:\n  deadline_s: 9\nshutdown:\n  pre_stop_s: 1\n  # patience\n  grace_s: 2\n',
  ],
  'a section that is empty then': [
    'limits:\n  leave_s: 1\nshutdown: { grace_s: 2 }\n',
    'limits: {}\nshutdown: { pre_stop_s: 1, grace_s: 2 }\n',
  ],
  'a section in JSON with lines': [
    '{\n    "limits": {\n        "deadline_s": 9,\n        "drain_s": 2\n    },\n    "log": {}\n}\n',
    '{\n    "limits": {\n        "deadline_s": 9\n    },\n    "shutdown": {\n        "grace_s": 2\n    },\n    "log": {}\n}\n',
  ],
  'a section in JSON without lines': [
    '{"limits":{"drain_s":2,"deadline_s":9}}',
    '{"limits":{"deadline_s":9}, "shutdown":{ "grace_s":2 }}',
  ],
}

t.test('an old setting is rewritten, and every other byte stays the same', async (t) => {
  for (const [name, [before, after]] of Object.entries(cases)) {
    const { text, fixes } = fixed(before)
    t.equal(text, after, name)
    t.ok(fixes.length > 0, name)
    t.strictSame(fixed(text).fixes, [], `${name}, again`)
    t.equal(fixed(text).text, text, `${name}, again`)
  }
})

t.test('each change is reported with its original line', async (t) => {
  t.strictSame(fixed('limits:\n  leave_s: 1\n  deadline_s: 2\nwires:\n  slime: { truths: a }\n').fixes, [
    { line: 4, message: '`wires` is `trainers` now' },
    { line: 5, message: '`truths` is `ground_truth_file` now' },
    { line: 2, message: '`limits.leave_s` is `shutdown.pre_stop_s` now' },
  ])
})

t.test('a setting that needs a person to rename it stays and is reported', async (t) => {
  const stays: Readonly<Record<string, RegExp>> = {
    'models: { a: { reports_as: [x], served_model_aliases: [y] } }': /is set as well/,
    'steps: [{ soft: "${SOFT}" }]': /its value has no new name/,
    'steps: [{ soft: &on true, gated: *on }]': /an anchor that is used elsewhere/,
    'limits: { drain_s: 1 }\nshutdown: { grace_s: 2 }': /is set as well/,
    'limits:\n  drain_s: !!int 1\n  deadline_s: 9\nshutdown: {}\n': /set as well|unusual/,
  }
  for (const [text, why] of Object.entries(stays)) {
    const { text: after, remaining: left, fixes } = fixed(text)
    t.equal(after, text)
    t.strictSame(fixes, [], text)
    t.match(left, [{ line: Number, message: why }], text)
  }
})

t.test('a text with syntax errors is not changed', async (t) => {
  const broken = [
    'wires: { a: ',
    'wires: {}\nwires: {}\n',
    'wires: *none\n',
    '%',
    '',
    '---\nwires: {}\n---\na: 1\n',
  ]
  for (const text of broken)
    t.strictSame(fixed(text), { text, fixes: [], remaining: [] }, JSON.stringify(text))
})

t.test('a config of eight times as many old settings costs about eight times as much', async (t) => {
  const step = '  - { function: f, soft: true, options: { mode: sound } }\n'
  const textOf = (count: number) => `steps:\n${step.repeat(count)}`
  const cost = (count: number) => {
    const text = textOf(count)
    const before = cpuMs()
    const { fixes } = fixed(text)
    t.equal(fixes.length, 2 * count)
    return cpuMs() - before
  }
  cost(100)
  // A collection of garbage may have made one dearer: the least of some tries counts.
  let ratio = Number.POSITIVE_INFINITY
  for (let tried = 0; tried < 3 && ratio >= 24; tried++) {
    const few = Math.min(cost(300), cost(300), cost(300))
    ratio = Math.min(ratio, cost(2400) / few)
  }
  t.ok(ratio < 24, `eight times as many cost ${ratio.toFixed(1)} times as much`)
})

/** A config under old or new names, each chosen by `isOld`. */
function configs(isOld: (name: string) => boolean) {
  const name = (old: string, next: string) => (isOld(old) ? old : next)
  const soft = (is: boolean) => (isOld('soft') ? { soft: is } : { verdict: is ? 'expected' : 'sampled' })
  const model = {
    model: 'm',
    instances: ['http://127.0.0.1:9'],
    [name('reports_as', 'served_model_aliases')]: ['x', 'y'],
    [name('max_queue_s', 'max_queue_wait_s')]: 4,
    hedge: { budget: 0.1, [name('after', 'quantile')]: 0.9 },
    [name('wait_for_instance_s', 'wait_for_instance')]: 3,
  }
  const shutdown: [string, string, number][] = [
    ['leave_s', 'pre_stop_s', 1],
    ['drain_s', 'grace_s', 2],
  ]
  const old = shutdown.filter(([key]) => isOld(key))
  const now = shutdown.filter(([key]) => !isOld(key))
  const gateway: Record<string, unknown> = {
    models: { a: model, b: { ...model, model: 'n' } },
    limits: {
      deadline_s: 60,
      ...Object.fromEntries(old.map(([key, , value]) => [key, value])),
      max_samples: 10,
    },
    ...(now.length > 0 && { shutdown: Object.fromEntries(now.map(([, key, value]) => [key, value])) }),
    [name('wires', 'trainers')]: {
      slime: { [name('truths', 'ground_truth_file')]: 't.jsonl', deadline_s: 5 },
    },
    log: { slow_sample_s: 1 },
  }
  const reward = {
    description: 'reference # sound',
    arithmetic: name('reference', 'published'),
    steps: [
      { name: 'a', function: 'gsm8k', options: { mode: name('sound', 'strict') } },
      {
        name: 'b',
        function: 'yes-no-judge',
        model: 'a',
        ...soft(true),
        options: { mode: name('sound', 'strict') },
      },
      { name: 'c', function: 'yes-no-judge', model: 'b', ...soft(false) },
      {
        name: 'd',
        function: 'pairwise-judge',
        model: 'b',
        pairs: { scheme: name('circular', 'ring'), neighbours: 2 },
      },
    ],
  }
  return { gateway, reward }
}

const names = [
  'reports_as',
  'max_queue_s',
  'after',
  'wait_for_instance_s',
  'leave_s',
  'drain_s',
  'wires',
  'truths',
  'reference',
  'sound',
  'soft',
  'circular',
]

/** A value as YAML in any of its forms, with comments and empty lines between. */
function yamlOf(value: unknown, random: () => number, indent = ''): string {
  const note = () => (random() < 0.3 ? ` # note ${Math.floor(random() * 1e6)}` : '')
  const scalar = (one: unknown) =>
    typeof one === 'string' && /^\w+$/.test(one) && random() < 0.5 ? one : JSON.stringify(one)
  const flow = (one: unknown): string => {
    if (Array.isArray(one)) return `[${one.map(flow).join(', ')}]`
    if (typeof one !== 'object' || one === null) return scalar(one)
    return `{ ${Object.entries(one)
      .map(([key, inner]) => `${scalar(key)}: ${flow(inner)}`)
      .join(', ')} }`
  }
  if (typeof value !== 'object' || value === null || (indent !== '' && random() < 0.25))
    return ` ${flow(value)}${note()}\n`
  const above = () =>
    `${random() < 0.2 ? '\n' : ''}${random() < 0.2 ? `${indent}# about ${Math.floor(random() * 1e6)}\n` : ''}`
  const lines = Array.isArray(value)
    ? value.map((one) => `${above()}${indent}-${yamlOf(one, random, `${indent}  `)}`)
    : Object.entries(value).map(
        ([key, one]) => `${above()}${indent}${scalar(key)}:${yamlOf(one, random, `${indent}  `)}`,
      )
  return `${indent === '' ? '' : `${note()}\n`}${lines.join('')}`
}

t.test(
  'old settings in any layout keep their meaning under the new names, and no comment is lost',
  async (t) => {
    const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31)
    t.comment(`seed ${seed}`)
    const random = seeded(seed)
    for (let run = 0; run < 50; run += 1) {
      const share = random()
      const old = new Set(names.filter(() => random() < share))
      const before = configs((one) => old.has(one))
      const wanted = configs(() => false)
      const form = Math.floor(random() * 4)
      const texts = ([before.gateway, before.reward] as const).map((data) => {
        const text = form < 2 ? yamlOf(data, random) : JSON.stringify(data, null, [2, 0][form - 2] || '\t')
        return random() < 0.2 ? text.replaceAll('\n', '\r\n') : text
      })
      const results = texts.map(fixed)
      for (const [at, { text, remaining: left }] of results.entries()) {
        const where = `seed ${seed}, run ${run}, old: ${[...old].join(' ')}\n${texts[at]}\n->\n${text}`
        const say = (one: string) => one.match(/# (?:note|about) \d+/g)?.sort() ?? []
        if (left.length > 0) t.fail(`left: ${left[0]?.message} ${where}`)
        if (JSON.stringify(say(text)) !== JSON.stringify(say(texts[at] ?? ''))) t.fail(`comments: ${where}`)
        const data: unknown = parse(text)
        if (!isDeepStrictEqual(data, [wanted.gateway, wanted.reward][at]))
          t.fail(`says something else: ${where}`)
        if (form >= 2) t.strictSame(JSON.parse(text), data)
        if (fixed(text).text !== text) t.fail(`not the same again: ${where}`)
      }
      const [gateway = '', reward = ''] = results.map(({ text }) => text)
      const read = readConfigs(
        [
          { file: 'gateway.yaml', text: gateway },
          { file: 'r.yaml', text: reward },
        ],
        {},
      )
      t.strictSame(read.problems, [])
    }
  },
)

import { readFileSync } from 'node:fs'
import t from 'tap'
import { GatewayError } from '../../../src/core/errors.ts'
import { openGateway } from '../../../src/scoring/gateway/gateway.ts'
import { parseConfig } from '../../../src/scoring/plan/config-text.ts'
import { explainPlan } from '../../../src/scoring/plan/explain.ts'
import type { ShownTests } from '../../../src/serving/telemetry/live/shown-tests.ts'
import type { TextPolicy } from '../../../src/serving/telemetry/record/text-policy.ts'
import { testApp } from '../../support/app.ts'
import { inspectedApp } from '../../support/inspected.ts'
import { packed, packedPickle } from '../../support/packed-tests.ts'
import { withoutPython } from '../../support/python.ts'

const code = (text: string): string => `Here it is:\n\n\`\`\`python\n${text}\n\`\`\`\n`
const add = code('a, b = map(int, input().split())\nprint(a + b)')
const lists = { inputs: ['1 2\n', '10 -4\n', '0 0'], outputs: ['3\n', '6', '0\n'] }
const called = { inputs: ['[2, 7, 11]\n9'], outputs: ['[0, 1]'], fn_name: 'two' }
const humanEval = { test: 'def check(candidate):\n    assert candidate(1, 2) == 3\n', entry_point: 'add' }
const plus = code('def add(a, b): return a + b')

const plusRow = {
  task_id: 'HumanEval/53',
  prompt: 'def third():\n    return 1 / 3\n\ndef add(a, b):\n    """Adds."""\n',
  entry_point: 'add',
  canonical_solution: '    return a + b\n',
  base_input: [[1, 2]],
  plus_input: [
    [0.1, 0.2],
    [[1], [2, 3]],
  ],
  atol: 1e-6,
}
const lcbRow = {
  public_test_cases: JSON.stringify([{ input: '[2, 7, 11]\n9', output: '[0, 1]', testtype: 'functional' }]),
  private_test_cases: packedPickle(
    JSON.stringify([{ input: '[3, 3]\n6', output: '[0, 1]', testtype: 'functional' }]),
  ),
  metadata: '{"func_name": "two"}',
  starter_code: 'class Solution:',
}
const two = code('class Solution:\n    def two(self, n, t): return (0, 1)')

/** What is scored: a name, the response, the ground truth, and the reward or the kind of failure. */
const rows: readonly (readonly [string, string, unknown, number | string])[] = [
  ['verl: standard input', add, lists, 1],
  ['verl: as JSON text', add, JSON.stringify(lists), 1],
  ['verl: a wrong answer', code('print(3)'), lists, 0],
  ['verl: a function', two, called, 1],
  ['verl: asserts', plus, { assert_case: ['assert add(1, 2) == 3', 'assert add(1, 2) != 4'] }, 1],
  ['NeMo Gym', add, { unit_tests: lists }, 1],
  [
    'NeMo Gym: packed',
    add,
    { verifier_metadata: { unit_tests: { packed: packed(JSON.stringify(lists)), fn_name: null } } },
    1,
  ],
  ['LiveCodeBench: a row', two, lcbRow, 1],
  ['LiveCodeBench: a row with a wrong answer', code('def two(n, t): return [1, 0]'), lcbRow, 0],
  [
    'LiveCodeBench: private tests alone',
    add,
    packedPickle(JSON.stringify([{ input: '1 2', output: '3', testtype: 'stdin' }])),
    1,
  ],
  [
    "LiveCodeBench: the grader's input",
    add,
    { input_output: JSON.stringify({ ...lists, fn_name: null }) },
    1,
  ],
  ['EvalPlus', plus, plusRow, 1],
  [
    'EvalPlus: within its tolerance',
    code('def add(a, b): return (a + b) * 1.0000001 if a == 0.1 else a + b'),
    plusRow,
    1,
  ],
  ['EvalPlus: a wrong answer', code('def add(a, b): return 3'), plusRow, 0],
  [
    'EvalPlus: a reference that fails',
    plus,
    { ...plusRow, canonical_solution: '    return a + c\n' },
    'bad_sample',
  ],
  [
    'EvalPlus: a reference that does not compile',
    plus,
    { ...plusRow, canonical_solution: '    return (' },
    'bad_sample',
  ],
  ['an expected value that cannot be computed', plus, ['assert add(1, 2) == 1 / 0'], 'bad_sample'],
  ['a function that the program lacks', plus, ['assert add(1, 2) == third()'], 0],
  ['LiveCodeBench', add, [{ input: '1 2', output: '3', testtype: 'stdin' }], 1],
  ['Open-Instruct: asserts', plus, ['assert add(1, 2) == 3'], 1],
  ['Open-Instruct: standard input', add, [{ input: '1 2', output: '3' }], 1],
  [
    'MBPP: imports of the future come first',
    code('from __future__ import annotations\ndef add(a: X, b): return a + b'),
    { test_list: ['assert add(1, K) == 3'], test_setup_code: 'K = 2' },
    1,
  ],
  ['MBPP', plus, { test_list: ['assert add(1, K) == 3'], test_setup_code: 'K = 2' }, 1],
  ['HumanEval', plus, humanEval, 1],
  ['HumanEval: a wrong answer', code('def add(a, b): return 4'), humanEval, 0],
  ['leaves before the asserts', code('import os\nos._exit(0)'), humanEval, 0],
  ['no code', 'The answer is 3.', lists, 0],
  ['code in the thinking only', `<think>${add}</think>done`, lists, 0],
  ['does not compile', code('print('), lists, 0],
  [
    'prints what the test expects',
    code('import sys\nf = sys._getframe()\nwhile f: print(f.f_locals); f = f.f_back'),
    lists,
    0,
  ],
  ['a program that is too long', code(`x = "${'a'.repeat(1_000_000)}"`), lists, 0],
  ['no tests', add, { inputs: [], outputs: [] }, 'bad_sample'],
  ['unequal lists', add, { inputs: ['1'], outputs: [] }, 'bad_sample'],
  ['a pickle', add, 'gAAAAA==', 'bad_sample'],
  ['no ground truth', add, null, 'bad_sample'],
]

const step = { name: 'tests', function: 'code-tests', sandbox: 'local' }
const sandboxes = { local: { programs: 1 } }
const why = withoutPython || (await cannotConfine())

async function cannotConfine(): Promise<string | false> {
  try {
    const gateway = await openGateway({ configs: [], inline: inline({}), functionFolders: [], env: {} })
    await gateway.close(0)
    return false
  } catch (error) {
    return (error as Error).message
  }
}

function inline(more: object) {
  return [
    { file: 'gateway.yaml', text: JSON.stringify({ sandboxes, ...more }) },
    { file: 'code.yaml', text: JSON.stringify({ steps: [step] }) },
  ]
}

interface Result {
  readonly reward: number | null
  readonly failure: { readonly kind: string } | null
  readonly terms: {
    readonly tests: { readonly flags: readonly string[]; readonly parts: object; readonly details: object }
  }
}

const options = (more: object) => ({ steps: [{ ...step, options: more }] })
/** One gateway for all tests of scores. */
const app = why
  ? null
  : await testApp(t, {
      gateway: { sandboxes },
      code: { steps: [step] },
      share: options({ score: 'share' }),
      strict: options({ limit_s: 3 }),
      published: options({ mode: 'published' }),
      fusion: options({ mode: 'published', grader: 'sandbox_fusion' }),
      lcb: options({ mode: 'published', grader: 'livecodebench' }),
      penalty: options({ format_penalty: 0.5 }),
      'open-instruct': options({ score: 'share', fence: 'none', limit_s: 3 }),
    })

async function post(url: string, payload: object) {
  if (!app) throw new Error('programs do not run here')
  return app.inject({ method: 'POST', url, payload })
}

t.test(
  'code-tests reads the tests of each data set, and pays only a program that passes them',
  { skip: why },
  async (t) => {
    const scored = async (reward: string, samples: readonly object[]): Promise<readonly Result[]> => {
      const reply = await post('/v1/score', { reward, samples })
      return (reply.json() as { results: Result[] }).results
    }
    const results = await scored(
      'code',
      rows.map(([, response, ground_truth]) => ({ prompt: 'p', response, ground_truth })),
    )
    for (const [at, [name, , , wanted]] of rows.entries())
      t.equal(results[at]?.failure?.kind ?? results[at]?.reward, wanted, name)
    const flagsOf = (name: string) => results[rows.findIndex(([one]) => one === name)]?.terms.tests.flags
    t.same(flagsOf('no code'), ['no_code'])
    t.same(flagsOf('HumanEval'), ['weak_tests'], 'a test that shares its process with the program is flagged')
    t.same(flagsOf('verl: a function'), [])
    const twoOfThree = code('a, b = map(int, input().split())\nprint(3 if a == 1 else 6 if a else "x")')
    const [share] = await scored('share', [{ prompt: 'p', response: twoOfThree, ground_truth: lists }])
    t.match(share, {
      reward: 2 / 3,
      terms: {
        tests: {
          parts: { compiled: 1, passed: 2 / 3 },
          details: { tests: 3, run: 3, first_failure: 2, ended: 'ok' },
        },
      },
    })
  },
)

/** Programs that cheat the graders which run tests in the program's own process, and tests that they cheat. */
const hacks: readonly (readonly [string, string, unknown, 'paid' | 'unpaid'])[] = [
  [
    'an object that equals everything',
    code('class E(list):\n    def __eq__(self, o): return True\ndef two(n, t): return E()'),
    called,
    'paid',
  ],
  [
    'an object that equals everything, in an assert',
    code('class E:\n    def __eq__(self, o): return True\ndef add(a, b): return E()'),
    ['assert add(1, 2) == 3'],
    'paid',
  ],
  [
    'an object that equals everything, in a check',
    code('class E:\n    def __eq__(self, o): return True\n    __ne__ = __eq__\ndef add(a, b): return E()'),
    { assert_case: ['assert add(1, 2) == 3'] },
    'unpaid',
  ],
  [
    'reads the expected output from the frames of the grader',
    code(
      'import sys\nf = sys._getframe()\nwhile "wanted" not in f.f_locals: f = f.f_back\nprint(f.f_locals["wanted"])',
    ),
    lists,
    'paid',
  ],
  ['leaves with 0 before the tests', code('import sys\nsys.exit(0)'), ['assert add(1, 2) == 3'], 'unpaid'],
  [
    'leaves hard before the tests',
    code('import os\nos._exit(0)'),
    { assert_case: ['assert 1 == 2'] },
    'unpaid',
  ],
  [
    'swallows asserts',
    code('import builtins\nclass A(Exception): pass\nbuiltins.AssertionError = A\ndef add(a, b): return 4'),
    ['assert add(1, 2) == 3'],
    'unpaid',
  ],
  [
    'replaces json and print',
    code(
      'import json, builtins\njson.dumps = lambda *a, **k: "[0, 1]"\nbuiltins.print = None\ndef two(n, t): return None',
    ),
    called,
    'unpaid',
  ],
  [
    'writes a result by itself',
    code(
      'import os\nfor fd in range(3, 20):\n    try: os.write(fd, b"true")\n    except OSError: pass\nos._exit(0)',
    ),
    { assert_case: ['assert add(1, 2) != 4'] },
    'unpaid',
  ],
  [
    'reads tests from files',
    code('import glob\nfor f in glob.glob("/tmp/*") + glob.glob("./*"): print(open(f).read())'),
    lists,
    'unpaid',
  ],
]

t.test('strict closes what the published graders pay', { skip: why }, async (t) => {
  const rewards = async (reward: string): Promise<readonly (number | null)[]> => {
    const samples = hacks.map(([, response, ground_truth]) => ({ prompt: 'p', response, ground_truth }))
    const reply = await post('/v1/score', { reward, samples })
    return (reply.json() as { results: Result[] }).results.map((result) => result.reward)
  }
  const [strict, published] = [await rewards('strict'), await rewards('published')]
  for (const [at, [name, , , paid]] of hacks.entries()) {
    t.equal(strict[at], 0, `strict: ${name}`)
    t.equal(published[at], paid === 'paid' ? 1 : 0, `published: ${name}`)
  }
})

t.test(
  "Open-Instruct's client gets the share of tests that pass, of a program without a fence",
  {
    skip: why,
  },
  async (t) => {
    const tested = async (path: string, program: string, tests: unknown) => {
      const payload = { program, tests, max_execution_time: 1.0 }
      const reply = await post(`/wire/open-instruct/open-instruct/${path}`, payload)
      return [reply.statusCode, reply.json()] as const
    }
    const asserts = ['assert add(1, 2) == 3', 'assert add(1, 1) == 3']
    const program = 'def add(a, b):\n    "```"\n    return a + b'
    const half = [200, { results: [0.5], runtimes: [0] }]
    t.strictSame(await tested('test_program', program, asserts), half)
    t.strictSame(await tested('test_program', program, JSON.stringify(asserts)), half)
    const pairs = [
      { input: '1 2\n', output: '3\n' },
      { input: '1 1\n', output: '3\n' },
    ]
    t.strictSame(await tested('test_program_stdio', 'print(sum(map(int, input().split())))', pairs), half)
    const health = await app?.inject({ method: 'GET', url: '/wire/open-instruct/open-instruct/health' })
    t.strictSame([health?.statusCode, health?.json()], [200, { status: 'healthy' }])
    const [status] = await tested('test_program', program, 5)
    t.equal(status, 502, 'no tests are no score: the client counts no number that nobody chose')
  },
)

t.test('a response without a program loses the format penalty', { skip: why }, async (t) => {
  const rewards = async (...responses: readonly string[]) => {
    const samples = responses.map((response) => ({ prompt: 'p', response, ground_truth: lists }))
    const reply = await post('/v1/score', { reward: 'penalty', samples })
    return (reply.json() as { results: Result[] }).results.map(({ reward }) => reward)
  }
  t.strictSame(await rewards('It is 3.', code('print(4)'), add), [-0.5, 0, 1])
})

t.test('published scores as the graders do', { skip: why }, async (t) => {
  const scored = async (reward: string, response: string, ground_truth: unknown) => {
    const samples = [{ prompt: 'p', response, ground_truth }]
    const reply = await post('/v1/score', { reward, samples })
    const [result] = (reply.json() as { results: Result[] }).results
    return result?.failure?.kind ?? result?.reward
  }
  const eleven = {
    inputs: Array.from({ length: 11 }, (_, at) => String(at)),
    outputs: Array.from({ length: 11 }, () => '1'),
  }
  t.equal(
    await scored('published', code('print(2 if input() == "10" else 1)'), eleven),
    1,
    'the 11th is not counted',
  )
  t.equal(await scored('published', add, { inputs: [], outputs: [] }), 1, 'no tests pass')
  t.equal(await scored('published', add, { assert_case: ['assert 1 == 1'], inputs: 1 }), 0)
  t.equal(await scored('published', add, [{ input: '1 2', output: '3.0' }]), 1)
  t.equal(await scored('published', code('# threading\nprint(3)'), [{ input: '1 2', output: '3' }]), 0)
  t.equal(await scored('published', add, 'no tests'), 'bad_sample')
  t.equal(await scored('lcb', add, lists), 1)
  t.equal(await scored('lcb', 'print(3)', { inputs: ['1 2'], outputs: ['3'] }), 0, 'no fences, no program')
})

t.test(
  'the shipped config of verl runs code where there is a sandbox, and starts without one',
  { skip: why },
  async (t) => {
    const file = 'verl-default.yaml'
    const text = readFileSync(`rm-configs/${file}`, 'utf8')
    const verl = parseConfig({ file, text }, {}).value as object
    const sources = ['codecontests', 'apps', 'codeforces', 'taco', 'openai/gsm8k']
    const tests = JSON.stringify({ inputs: ['1 2', '2 2'], outputs: ['3', '5'] })
    const samples = sources.map((data_source) => ({
      prompt: 'p',
      data_source,
      ...(data_source.startsWith('openai')
        ? { response: 'So\n#### 5', ground_truth: '5' }
        : { response: add, ground_truth: tests }),
    }))
    const scored = async (gateway: object) => {
      const server = await testApp(t, { gateway, verl })
      const reply = await server.inject({
        method: 'POST',
        url: '/v1/score',
        payload: { reward: 'verl', samples },
      })
      return (reply.json() as { results: Result[] }).results.map(
        ({ reward, failure }) => failure?.kind ?? reward,
      )
    }
    const lost = 'sandbox_unreachable'
    t.same(await scored({}), [lost, lost, lost, lost, 1])
    t.same(await scored({ sandboxes }), [0.5, 0.5, 0.5, 0.5, 1])
    const opened = (gateway: object) =>
      openGateway({
        configs: [],
        inline: [
          { file: 'gateway.yaml', text: JSON.stringify(gateway) },
          { file, text },
        ],
        functionFolders: [],
        env: {},
        listens: { host: '0.0.0.0' },
      })
    const without = await opened({})
    t.match(
      explainPlan(without.reward('verl-default')).join(' '),
      /does not define its sandbox, so its samples are invalid/,
    )
    await without.close(0)
    await t.rejects(opened({ sandboxes }), { message: /define a key of scope score/ })
  },
)

t.test('programs in C++ and JavaScript', { skip: why }, async (t) => {
  const languages = ['python', 'cpp', 'javascript']
  const steps = (language: string) => ({
    steps: [{ name: 'tests', function: 'code-tests', sandbox: 'local', options: { language } }],
  })
  const opened = await testApp(t, {
    gateway: { sandboxes: { local: { programs: 1, languages } } },
    cpp: steps('cpp'),
    javascript: steps('javascript'),
  }).catch((error: GatewayError) => error)
  if (opened instanceof GatewayError) {
    t.match(opened.message, /programs in (?:cpp|javascript) cannot be run/)
    t.comment(opened.message)
    return
  }
  const fenced = (language: string, text: string) => `\`\`\`${language}\n${text}\n\`\`\``
  const twice = { inputs: ['2', '3'], outputs: ['4', '6'] }
  const right = '#include <iostream>\nint main() { int n; std::cin >> n; std::cout << 2 * n; }'
  const script = 'console.log(2 * require("fs").readFileSync(0))'
  const table: readonly (readonly [string, string, unknown, number | string])[] = [
    ['cpp', fenced('cpp', right), twice, 1],
    ['cpp', fenced('c++', right), JSON.stringify(twice), 1],
    ['cpp', fenced('cpp', 'int main() {}'), twice, 0],
    ['cpp', fenced('cpp', 'int main( {'), twice, 0],
    ['cpp', fenced('python', 'print(4)'), twice, 0],
    ['cpp', fenced('cpp', right), { ...called, outputs: ['1'] }, 'bad_sample'],
    ['javascript', fenced('js', script), twice, 1],
    ['javascript', fenced('', script), twice, 1],
    ['javascript', fenced('javascript', 'console.log(4)'), twice, 0],
    ['javascript', fenced('javascript', script), { assert_case: ['assert True'] }, 'bad_sample'],
  ]
  for (const [reward, response, ground_truth, wanted] of table) {
    const payload = { reward, samples: [{ prompt: 'p', response, ground_truth }] }
    const [result] = (
      (await opened.inject({ method: 'POST', url: '/v1/score', payload })).json() as { results: Result[] }
    ).results
    t.equal(result?.failure?.kind ?? result?.reward, wanted, `${reward} ${response.slice(0, 40)}`)
  }
})

t.test('a reward that runs programs needs a key where other machines reach it', { skip: why }, async (t) => {
  const open = (host: string, more: object = {}) =>
    openGateway({
      configs: [],
      inline: inline(more),
      functionFolders: [],
      env: { KEY: 'k'.repeat(40) },
      listens: { host },
    })
  await t.rejects(open('0.0.0.0'), { code: 'RG_CONFIG_INVALID', message: /define a key of scope score/ })
  await t.rejects(open('::', { keys: { one: { env: 'KEY', scopes: ['read'] } } }), {
    code: 'RG_CONFIG_INVALID',
  })
  for (const gateway of [await open('127.0.0.1'), await open('0.0.0.0', { keys: { one: { env: 'KEY' } } })])
    await gateway.close(0)
})

t.test('mistakes about sandboxes are told with a remedy', async (t) => {
  const refused = async (gateway: object, one: object, message: RegExp) => {
    const error: unknown = await openGateway({
      configs: [],
      inline: [
        { file: 'gateway.yaml', text: JSON.stringify(gateway) },
        { file: 'code.yaml', text: JSON.stringify({ steps: [one] }) },
      ],
      functionFolders: [],
      env: {},
    }).catch((refusal: unknown) => refusal)
    t.ok(error instanceof GatewayError)
    t.match((error as GatewayError).problems.map(({ message: said }) => said).join(), message)
  }
  const plain = { name: 'tests', function: 'code-tests' }
  await refused({}, plain, /runs programs; write 'sandboxes: \{local: \{\}\}' into gateway.yaml/)
  await refused({ sandboxes }, plain, /add 'sandbox:' with one of 'local'/)
  await refused({ sandboxes }, { ...plain, sandbox: 'locals' }, /defines no sandbox 'locals'.*'local'/)
  await refused({ sandboxes }, { ...plain, sandbox: 'local', model: 'judge' }, /runs programs/)
  await refused({ sandboxes }, { name: 'm', function: 'exact-match', sandbox: 'local' }, /runs none/)
  await refused(
    { sandboxes },
    { ...step, options: { language: 'cpp' } },
    /the sandbox 'local' runs python; write 'languages: \[python, cpp\]' under it/,
  )
  const fusion = { backend: 'sandbox-fusion', instances: ['http://x'], languages: ['cpp'] }
  await refused({ sandboxes: { fusion } }, { ...plain, sandbox: 'fusion' }, /run only python/)
  await refused({ sandboxes }, { ...step, timeout_s: 30 }, /may take 60 s \(total_s\), but timeout_s is 30 s/)
  const slow = { ...step, options: { limit_s: 100 } }
  await refused({ sandboxes }, slow, /one test may take 100 s \(limit_s\), but all tests together 60 s/)
  const faulty = { sandboxes: { local: { program: 1 } } }
  await refused(faulty, step, /^(?!.*defines no sandbox).*there is no setting 'program'/)
  const long = { ...step, options: { total_s: 600 } }
  await refused({ sandboxes }, long, /may take 600 s \(total_s\), but limits\.deadline_s is 600 s/)
})

t.test(
  'a published grader gives no score for tests of a form that it does not read',
  { skip: why },
  async (t) => {
    const forms: readonly object[] = [
      { private_test_cases: '[{"input":"1","output":"1","testtype":"stdin"}]' },
      { unit_tests: { inputs: ['1'], outputs: ['1'] } },
      { test_list: ['assert True'] },
      { test: 'def check(f): pass', entry_point: 'f' },
    ]
    const response = '```python\nprint(input())\n```'
    for (const reward of ['published', 'lcb']) {
      const samples = forms.map((ground_truth) => ({ prompt: 'p', response, ground_truth }))
      const reply = await post('/v1/score', { reward, samples })
      for (const { reward: value, failure } of (reply.json() as { results: Result[] }).results)
        t.match({ value, failure }, { value: null, failure: { kind: 'bad_sample', detail: /of this form/ } })
    }
  },
)

t.test(
  "verl's sandbox_fusion: what is printed counts, and only the program's own names",
  { skip: why },
  async (t) => {
    const table: readonly (readonly [string, unknown, number])[] = [
      [add, { inputs: ['1 2', '2 2'], outputs: ['3', '5'] }, 0.5],
      ['```\nprint(1)\n```', { inputs: [''], outputs: ['1\n\n'] }, 1],
      [code('print("1 ")'), { inputs: [''], outputs: ['1'] }, 0],
      [code('print(gcd(4, 6))'), { inputs: [''], outputs: ['2'] }, 0],
      [code('def f(x): return gcd(x, 6)'), { inputs: ['4'], outputs: ['2'], fn_name: 'f' }, 1],
      [code('def f(x): return "a"'), { inputs: ['4'], outputs: ['"a"'], fn_name: 'f' }, 0],
      [code('def f(x): return 1 // 0'), { inputs: ['4'], outputs: [''], fn_name: 'f' }, 1],
      [code('def f(x): return x'), { assert_case: ['assert f(1) == 1', 'assert f(1) == 2'] }, 0.5],
      [code('exit()'), { assert_case: ['assert False'] }, 1],
      [code('print(1)\nexit(1)'), { inputs: [''], outputs: ['1'] }, 0],
      ['print(1)', { inputs: [''], outputs: ['1'] }, 0],
      [add, { inputs: ['1 2'], outputs: [] }, 0],
      [code('print(input())'), { inputs: [[1, 'a']], outputs: ["[1, 'a']"] }, 1],
    ]
    const samples = table.map(([response, ground_truth]) => ({ prompt: 'p', response, ground_truth }))
    const { results } = (await post('/v1/score', { reward: 'fusion', samples })).json() as {
      results: Result[]
    }
    t.same(
      results.map(({ reward }) => reward),
      table.map(([, , reward]) => reward),
    )
  },
)

t.test(
  'the page shows the tests of a program, within bounds and as the text policy says',
  { skip: why },
  async (t) => {
    const keys = {
      reader: { env: 'READER', scopes: ['read'] },
      trainer: { env: 'TRAINER', scopes: ['score'] },
    }
    const env = { READER: 'reader-key-0123456789', TRAINER: 'trainer-key-0123456789' }
    let text: TextPolicy = 'full'
    const { app } = await inspectedApp(
      t,
      {
        gateway: { sandboxes, keys },
        share: options({ score: 'share', limit_s: 1 }),
        code: { steps: [step] },
      },
      { env, text: () => text },
    )
    const reader = { authorization: `Bearer ${env.READER}` }
    const trainer = { authorization: `Bearer ${env.TRAINER}` }
    const score = async (id: string, program: string, truth: unknown, reward = 'share') => {
      const samples = [{ prompt: 'p', response: code(program), ground_truth: truth }]
      const payload = { reward, samples }
      return app.inject({
        method: 'POST',
        url: '/v1/score',
        headers: { ...trainer, 'x-request-id': id },
        payload,
      })
    }
    const row = (id: string, headers: object = reader) =>
      app.inject({ url: `/ui/api/rows/${id}:0`, headers: { ...headers } })
    const tests = async (id: string): Promise<ShownTests> => (await row(id)).json().terms[0].tests

    await score('unseen', 'print(1)', { inputs: ['hidden'], outputs: ['1'] })
    t.equal(await tests('unseen'), undefined, 'nothing is kept while nobody looks')
    const page = await app.inject({ url: '/ui/api/events', headers: reader, payloadAsStream: true })
    t.teardown(() => page.stream().destroy())

    const ends = [
      'import sys, time',
      'n = input()',
      'if n == "raise": raise KeyError("a key")',
      'if n == "sleep": time.sleep(60)',
      'if n == "fill": x = "x" * (1 << 40)',
      'if n == "flood": print("y" * 9000000)',
      'print("said", file=sys.stderr); print(n)',
    ].join('\n')
    const inputs = ['right', 'wrong', 'raise', 'sleep', 'fill', 'flood']
    const scored = await score('ends', ends, {
      inputs,
      outputs: inputs.map((_, at) => (at === 0 ? 'right' : 'secret')),
    })
    t.notMatch(scored.body, /secret/, 'who scores is told nothing of hidden tests')
    t.match(await tests('ends'), {
      compiled: true,
      asked: 6,
      run: 6,
      passed: 1,
      tests: [
        {
          index: 0,
          passed: true,
          ended: 'ok',
          kind: 'stdin',
          input: 'right',
          expected: 'right',
          stdout: 'right\n',
          stderr: 'said\n',
        },
        { ended: 'ok', passed: false, input: 'wrong', expected: 'secret', stdout: 'wrong\n' },
        { ended: 'exception', error: /^KeyError/, stderr: /Traceback/ },
        { ended: 'time', wall_s: Number },
        { ended: 'memory' },
        { ended: 'output', stdout: /^y{400}\n\[\d+ more characters\]$/ },
      ],
    })
    for (const headers of [{}, trainer]) {
      const refused = await row('ends', headers)
      t.match(refused.statusCode, /40[13]/)
      t.notMatch(refused.body, /secret/)
    }
    for (const policy of ['hash', 'none'] as const) {
      text = policy
      const shown = await tests('ends')
      t.notMatch(JSON.stringify(shown), /secret|wrong|KeyError|said/, policy)
      const kept = policy === 'hash' ? { sha256: /^[0-9a-f]{64}$/, chars: 6 } : null
      t.match(shown, {
        passed: 1,
        tests: [{ passed: true }, { ended: 'ok', expected: kept }, { ended: 'exception' }],
      })
    }
    text = 'full'

    await score('called', 'def two(n, t): return {"a": (n, t)}', called)
    t.match(await tests('called'), {
      tests: [
        {
          kind: 'call',
          input: /^two\(\*\[\[2, 7, 11\],9\]\)$/,
          expected: '[0, 1]',
          value: '{"dict":[["a",{"tuple":[[2,7,11],9]}]]}',
        },
      ],
    })
    await score('broken', 'print(', lists)
    t.match(await tests('broken'), { compiled: false, asked: 3, run: 0, tests: { length: 0 } })
    await score('stopped', 'print(0)', lists, 'code')
    t.match(await tests('stopped'), { asked: 3, run: 1, tests: { length: 1 } })

    const long = 'z'.repeat(1500)
    const many = Array.from({ length: 1000 }, (_, at) => `${at} ${long}`)
    const echo = `s = input()\nprint(s if int(s.split()[0]) % 400 else "no")`
    await score('many', echo, { inputs: many, outputs: many })
    const shown = await tests('many')
    t.match(shown, { asked: 1000, run: 1000, passed: 997, tests: { length: 200 } })
    const failed = shown.tests.filter(({ passed }) => !passed)
    t.same(
      failed.map(({ index }) => index),
      [0, 400, 800],
      'the tests that failed are kept wherever they stand',
    )
    for (const one of failed) t.match(one, { input: /^\d+ z+\n\[\d+ more/, expected: /z/, stdout: 'no\n' })
    t.ok(JSON.stringify(shown).length < 130_000, `${JSON.stringify(shown).length} characters of 6 MB`)
  },
)

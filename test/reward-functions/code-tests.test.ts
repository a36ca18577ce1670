import t from 'tap'
import codeTests from '../../reward-functions/code-tests.ts'
import type { Execution, Row, Score } from '../../src/contract/index.ts'
import { mostUnpackedBytes } from '../../src/grading/packed-tests.ts'
import { packed, packedPickle } from '../support/packed-tests.ts'

const options = (more: object = {}) => codeTests.options.parse(more)
const row = (response: string, truth: unknown, more: object = {}) => {
  const parsed = options(more)
  const sample = {
    id: '1',
    prompt: 'p',
    response,
    groundTruth: null,
    rmPrompts: {},
    extraInfo: {},
    hasExtraInfo: false,
  }
  return {
    sample,
    truth: codeTests.truth(parsed).parse(truth),
    options: parsed,
    earlier: {},
  } as unknown as Row<never, never>
}
const lists = { inputs: ['1', '22', '333'], outputs: ['1', '2', '3'] }
const program = '```python\nprint(1)\n```'

t.test('what a test expects is no part of what the program gets', async (t) => {
  const asked = (truth: unknown, more: object = {}) =>
    codeTests.rm_preprocess(row(program, truth, more)) as Execution
  t.match(asked({ assert_case: ['assert f(1) == 2'] }).cases, [
    { value: 'f(1)', expected: { holds: '_ == 2' } },
  ])
  t.match(asked(lists).cases[1], { stdin: '22', expected: { stdout: '2' } })
  t.match(asked({ ...lists, fn_name: 'f' }).cases[1], { call: 'f', args: '[22]', expected: { json: '2' } })
  t.equal(asked(lists).program, 'print(1)\n')
  t.equal(asked(lists).stop, 'first_failure')
  t.equal(asked(lists, { score: 'share' }).stop, 'never')
  t.match(asked(lists, { tests: { first: 2 } }).cases, [{ stdin: '1' }, { stdin: '22' }])
  t.match(asked(lists, { tests: { longest: 2 } }).cases, [{ stdin: '22' }, { stdin: '333' }])
  t.throws(() => asked({ inputs: ['x'], outputs: ['1'], fn_name: 'f' }), /of the ground truth is/)
  t.throws(() => asked({ inputs: ['1'], outputs: ['None'], fn_name: 'f' }), /of the ground truth is/)
  t.match(codeTests.rm_preprocess(row('no program', lists)), { value: 0, flags: ['no_code'] })
})

t.test('tests that were not run have not passed', async (t) => {
  const passed = { ended: 'ok', passed: true, error: '', cpuSeconds: 0 } as const
  const read = (cases: readonly object[], more: object = {}) =>
    codeTests.rm_postprocess({ compiled: true, cases: cases as never }, row(program, lists, more)) as Score
  t.equal(read([passed, passed, passed]).value, 1)
  t.equal(read([passed, passed]).value, 0)
  t.equal(read([]).value, 0)
  t.equal(read([passed], { score: 'share' }).value, 1 / 3)
  t.equal(read([passed], { score: 'share', threshold: 0.5 }).value, 0)
  t.match(read([passed, { ...passed, passed: false, ended: 'time' }]), {
    value: 0,
    flags: ['time_limit'],
    details: { first_failure: 1, ended: 'time' },
  })
})

t.test('packed tests are read without unpickling, within bounds', async (t) => {
  const asked = (truth: unknown, more: object = {}) =>
    codeTests.rm_preprocess(row(program, truth, more)) as Execution
  const tests = JSON.stringify([{ input: '1', output: '2', testtype: 'stdin' }])
  t.match(asked(packedPickle(tests)).cases, [{ stdin: '1' }])
  t.match(asked(packed(tests)).cases, [{ stdin: '1' }])
  const hostile: readonly (readonly [string, string])[] = [
    ['a call of os.system', packed(Buffer.from("\x80\x04cos\nsystem\n(S'id'\ntR.", 'latin1'))],
    ['a global before the text', packedPickle(tests, [...Buffer.from('cos\nsystem\n')])],
    ['a call after the text', packedPickle(tests, [], [0x85, 0x52, 0x2e])],
    ['two texts', packedPickle(tests, [0x8c, 1, 0x61], [0x2e])],
    ['bytes after the end', packedPickle(tests, [], [0x94, 0x2e, 0x2e])],
    ['no end', packedPickle(tests, [], [0x94])],
    ['a length beyond the end', packed(Buffer.from([0x80, 4, 0x58, 255, 255, 255, 255, 0x2e]))],
    [
      'a length of 64 bits',
      packed(Buffer.from([0x80, 4, 0x8d, 255, 255, 255, 255, 255, 255, 255, 255, 0x2e])),
    ],
    ['a length without its bytes', packed(Buffer.from([0x80, 4, 0x58, 1]))],
    ['no pickle at all', packed(Buffer.from([0x80, 4]))],
    ['no UTF-8', packed(Buffer.from([0x80, 4, 0x8c, 1, 0xff, 0x2e]))],
    ['a bomb', packed(Buffer.alloc(mostUnpackedBytes + 1, 0x20))],
    ['cut zlib data', packedPickle(tests).slice(0, 30)],
    ['no base64', 'eJy!!!!!'],
    ['no tests', packedPickle('[]')],
    ['other JSON', packedPickle('{"__proto__": {"input": "1", "output": "2"}}')],
    ['deep JSON', packedPickle('['.repeat(200_000))],
  ]
  for (const [name, truth] of hostile) {
    t.throws(() => asked(truth), { message: /ground truth|ground_truth|base64/ }, name)
    t.throws(() => asked({ private_test_cases: truth }), { message: /ground truth/ }, name)
    t.throws(() => asked({ unit_tests: { packed: truth } }), { message: /ground truth/ }, name)
  }
})

t.test('ground truths of hostile forms are bad samples', async (t) => {
  const asked = (truth: unknown, more: object = {}) =>
    codeTests.rm_preprocess(row(program, truth, more)) as Execution
  const many = {
    inputs: Array.from({ length: 50_000 }, String),
    outputs: Array.from({ length: 50_000 }, String),
  }
  t.throws(() => asked(many), /has 50000 tests; at most 10000 are run: set `tests: \{first: n\}`/)
  t.equal(asked(many, { tests: { first: 10 } }).cases.length, 10)
  t.equal(asked(many, { tests: { longest: 10_000 } }).cases.length, 10_000)
  const inherited = JSON.parse('{"__proto__": {"inputs": ["1"], "outputs": ["1"]}}')
  for (const truth of [
    inherited,
    { inputs: { length: 1 }, outputs: ['1'] },
    { test: 'def check(c): pass', entry_point: 'f()\nimport os' },
    { entry_point: 'f); print(', canonical_solution: 'x', base_input: [[1]] },
    [{ input: '1', output: null }],
    { test_list: [] },
    { unit_tests: { packed: 1 } },
  ])
    t.throws(() => asked(truth), JSON.stringify(truth))
  const functional = [{ input: '1', output: '1', testtype: 'functional' }]
  t.throws(() => asked({ private_test_cases: functional, metadata: '{}' }), /need its name/)
  t.throws(() => asked({ private_test_cases: functional, metadata: '{"func_name": 1}' }), /metadata/)
})

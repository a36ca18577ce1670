import t from 'tap'
import codeTests from '../../reward-functions/code-tests.ts'
import type { Execution, Row, Score } from '../../src/contract/index.ts'

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
  t.match(asked({ assert_case: ['assert f(1) == 2'] }).cases, [{ value: 'f(1)', expected: { python: '2' } }])
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

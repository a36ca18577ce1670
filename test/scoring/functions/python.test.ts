import { join } from 'node:path'
import t from 'tap'
import type { BoundFunction } from '../../../src/scoring/functions/function-host.ts'
import {
  call,
  failureOf,
  noteEvents,
  numberOf,
  openWith,
  sampleOf,
  score,
} from '../../support/function-calls.ts'
import { withoutPython } from '../../support/python.ts'
import { seeded } from '../../support/seeded.ts'
import { isWithin } from '../../support/yardstick.ts'
import { publishedPairs } from './published-pairs.ts'
import { pythonFiles } from './python-files.ts'

t.test('Python files in a folder of reward functions', { skip: withoutPython }, async (t) => {
  const folder = t.testdir(pythonFiles)
  const { events, failures: reported } = noteEvents()
  const host = await openWith([folder], {
    events,
    python: { processes: 2, memoryMb: 1024 },
  })
  t.teardown(() => host.close())
  const verl = await host.bind('verl_rule', { range: [0, 1], parts: ['acc'] })
  const give = (response: string, groundTruth = 'x') =>
    host.call({
      op: 'score',
      function: verl,
      rows: [{ sample: { ...sampleOf(response, groundTruth), extraInfo: { split: 'train' } }, earlier: {} }],
    })

  t.test('are described like any other', async (t) => {
    t.match(await host.describe('verl_rule'), {
      kind: 'rule',
      ask: null,
      file: /verl_rule\.py$/,
      hash: /^[0-9a-f]{64}$/,
    })
    t.match(await host.describe('judge'), { kind: 'model', ask: 'generate', critique: false })
  })

  t.test('have the range of their config, and without one a warning (M39)', async (t) => {
    t.strictSame(verl.range, [0, 1])
    t.equal(verl.warning, undefined)
    const unlimited = await host.bind('slow', {})
    t.match(unlimited.warning, /^no range is declared/)
    t.strictSame(unlimited.range, [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY])
    const saysSo = await host.bind('slow', { range: [null, null] })
    t.equal(saysSo.warning, undefined, 'a config can say that there is no limit')
  })

  t.test('refuse options that they do not have', async (t) => {
    const mistakes: readonly (readonly [name: string, options: object, problem: object])[] = [
      ['trl_rules', {}, { path: 'function', message: 'name one of exact, formatted' }],
      ['trl_rules', { function: 'other' }, { path: 'function', message: /no function 'other'/ }],
      ['verl_rule', { kwargs: { method: 'strict' } }, { path: 'kwargs', message: /takes no 'method'/ }],
      ['verl_rule', { rnage: [0, 1] }, { message: /rnage/ }],
      ['verl_rule', { range: [1, 0] }, { path: 'range' }],
    ]
    for (const [name, options, problem] of mistakes) {
      const error = await host.bind(name, options as never).catch((error) => error)
      t.match(error.problems, [problem], `${name} ${JSON.stringify(options)}`)
    }
  })

  t.test("verl's compute_score gives numbers, tuples and dicts", async (t) => {
    t.equal(numberOf(await give('x')), 1)
    t.equal(numberOf(await give('y')), 0)
    t.equal(numberOf(await give('true')), 1)
    t.equal(numberOf(await give('tuple')), 0.25)
    const dict = await give('dict')
    t.match(dict, { verdicts: [{ value: 0.5, parts: { acc: 1 }, details: { odd: '<object>' } }] })
    t.ok(JSON.stringify(dict).length < 5000, 'long entries are cut')
  })

  t.test('what it raises, prints and returns wrongly is a failure of its sample', async (t) => {
    const failures = async (response: string) => failureOf(await give(response))
    t.match(await failures('raise'), /^rule_error: score threw ValueError at verl_rule\.py:9$/)
    t.ok(reported.some(({ error }) => /Traceback.*secret raise/s.test(error ?? '')))
    t.match(await failures('exit'), /^rule_error: score threw SystemExit/)
    t.match(await failures('none'), /^rule_error: score: returned NoneType, not a number/)
    t.match(await failures('nan'), /^rule_error: score returned NaN/)
    t.match(await failures('text'), /^rule_error: score: returned str/)
    t.match(await failures('much'), /^rule_error: score threw MemoryError/)
  })

  t.test('a sample that hangs or kills its process inside a chunk costs only itself', async (t) => {
    const responses = Array.from({ length: 32 }, (_, i) => (i === 7 ? 'hang' : i === 21 ? 'die' : 'x'))
    const results = await Promise.all(responses.map((response) => give(response)))
    results.forEach((result, i) => {
      if (i === 7) t.match(failureOf(result), /^rule_timeout: score did not end within 1000 ms/)
      else if (i === 21)
        t.match(failureOf(result), /^rule_error: score ended its worker twice: .*exit code 3/)
      else t.equal(numberOf(result), 1)
    })
  })

  t.test('asynchronous functions run side by side, each with its own time limit', async (t) => {
    const slow = await host.bind('slow', { kwargs: { delay: 0.2 } })
    const begun = performance.now()
    const responses = [...Array<string>(20).fill('x'), 'never', 'raise']
    const results = await Promise.all(responses.map((response) => score(host, slow, response)))
    t.ok(isWithin(performance.now() - begun, 3000), '20 waits of 0.2 s do not add up')
    t.ok(results.slice(0, 20).every((result) => numberOf(result) === 0))
    t.match(failureOf(results[20]!), /^rule_timeout/)
    t.match(failureOf(results[21]!), /^rule_error: score threw KeyError at slow\.py/)
  })

  t.test('an asynchronous function that blocks the others costs only itself', async (t) => {
    const slow = await host.bind('slow', {})
    const results = await Promise.all(['x', 'block', 'x'].map((response) => score(host, slow, response)))
    t.strictSame(results.map(numberOf), [0, Number.NaN, 0])
    t.match(failureOf(results[1]!), /^rule_timeout/)
  })

  t.test("OpenRLHF's reward_func, with tensors", async (t) => {
    const remote = await host.bind('remote', {})
    t.match(await score(host, remote, 'x', 'x'), {
      verdicts: [{ value: 1, details: { scores: 0.5, length: 2 } }],
    })
    t.equal(numberOf(await score(host, remote, 'x', 'y')), 0)
  })

  t.test("TRL's functions of completions, with columns and None", async (t) => {
    const exact = await host.bind('trl_rules', { function: 'exact' })
    const formatted = await host.bind('trl_rules', { function: 'formatted' })
    t.equal(numberOf(await score(host, exact, 'x', 'x')), 1)
    t.strictSame(await score(host, exact, 'skip', 'x'), { status: 'verdicts', verdicts: [null] })
    const sample = {
      ...sampleOf('x', 'x'),
      prompt: [{ role: 'user', content: 'q' }],
      extraInfo: { difficulty: 3, solution: 'y' },
    }
    const rows = [{ sample, earlier: {} }]
    t.equal(
      numberOf(await host.call({ op: 'score', function: exact, rows })),
      0,
      'a column goes before the ground truth',
    )
    t.equal(numberOf(await host.call({ op: 'score', function: formatted, rows })), 1.5)
    t.match(
      failureOf(await score(host, formatted, 'x')),
      /^rule_error: score threw TypeError/,
      'a column is missing',
    )
  })

  t.test('a pair of hooks asks with the messages and reads the text', async (t) => {
    const judge = await host.bind('judge', { range: [0, 1] })
    const read = (text: string) =>
      call(host, judge, 'postprocess', ['r'], null, { text, finishReason: 'stop' })
    t.strictSame(await call(host, judge, 'preprocess', ['r']), {
      status: 'question',
      question: { kind: 'chat', messages: [{ role: 'user', content: 'p: r' }] },
    })
    t.strictSame(await call(host, judge, 'preprocess', ['plain']), {
      status: 'question',
      question: 'plain question',
    })
    t.match(
      failureOf(await call(host, judge, 'preprocess', ['odd'])),
      /^function_error: .*returned int, not text/,
    )
    t.equal(numberOf(await read('1')), 1)
    t.strictSame(await read('?'), { status: 'verdicts', verdicts: [null] })
    t.match(failureOf(await read('7')), /^judge_out_of_range/)
  })
})

t.test(
  'mistakes in Python files are reported all at once, with the traceback',
  { skip: withoutPython },
  async (t) => {
    const folder = t.testdir({
      'broken.py': 'def f(:\n',
      'missing.py': 'import not_a_module\n',
      'no_function.py': 'x = 1\n',
      'half.py': 'def rm_preprocess(text_prompts, text_responses, tgt_tokenizer):\n    return text_prompts\n',
      'Bad-Name.py': '',
      'test_it.py': 'raise ValueError()',
    })
    const { problems } = await openWith([folder]).catch((error) => error)
    const said = (path: string) =>
      problems.find((problem: { path: string }) => problem.path.endsWith(path))?.message
    t.match(said('/broken.py'), /SyntaxError/)
    t.match(said('/missing.py'), /No module named 'not_a_module'/)
    t.match(said('/no_function.py'), /none of its functions has a known signature: compute_score/)
    t.match(said('/half.py'), /rm_preprocess and rm_postprocess come together/)
    t.match(said('/Bad-Name.py'), /small letters: rename it bad_name\.py/)
    t.equal(problems.length, 5)
  },
)

t.test('an interpreter that cannot be started is named', async (t) => {
  const folder = t.testdir({ 'rule.py': 'def compute_score(solution_str): return 1\n' })
  const { problems } = await openWith([folder], { python: { command: 'no-such-python' } }).catch(
    (error) => error,
  )
  t.match(problems, [{ message: /no-such-python cannot be started: ENOENT/ }])
})

t.test(
  'published reward files score as our functions do in published mode',
  { skip: withoutPython },
  async (t) => {
    const seed = Number(process.env.SEED ?? Date.now() % 1e9)
    t.comment(`SEED=${seed}`)
    const random = seeded(seed)
    const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)] as T
    const host = await openWith([join('test/fixtures/python')], {
      sampleTimeoutMs: 20_000,
    })
    t.teardown(() => host.close())
    for (const [file, options, name, ourOptions, right, pieces, truths] of publishedPairs) {
      const theirs = await host.bind(file, options)
      const ours = await host.bind(name, ourOptions)
      const joined = Array.from({ length: 150 }, () => ({
        response: Array.from({ length: 1 + Math.floor(random() * 9) }, () => pick(pieces)).join(''),
        truth: pick(truths),
      }))
      // Pieces seldom join to a right answer, so that one is always among the rows, and a wrong one.
      const first = ['nothing', right].map((response) => ({ response, truth: truths[0]! }))
      const rows = [...first, ...joined]
      const all = (fn: BoundFunction) =>
        Promise.all(rows.map(({ response, truth }) => score(host, fn, response, truth)))
      const [published, own] = [await all(theirs), await all(ours)]
      const differing = rows.flatMap((row, i) => {
        const [a, b] = [numberOf(published[i]!), numberOf(own[i]!)]
        return Math.abs(a - b) < 1e-9
          ? []
          : [{ ...row, published: failureOf(published[i]!), a, own: failureOf(own[i]!), b }]
      })
      t.strictSame(differing, [], `${file} ${JSON.stringify(options)}`)
      t.not(numberOf(published[0]!), numberOf(published[1]!), 'a right answer scores unlike a wrong one')
    }
  },
)

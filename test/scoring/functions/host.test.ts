import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { workerThreads } from '../../../src/scoring/functions/thread-executor.ts'
import { call, failureOf, noteEvents, numberOf, openWith, score } from '../../support/function-calls.ts'
import { sampleOf } from '../../support/gateway.ts'
import { authorFiles, rule } from './author-files.ts'

t.test('functions of a folder without node_modules, outside the project', async (t) => {
  const folder = t.testdir(authorFiles)
  const { events, failures, restarts } = noteEvents()
  const host = await openWith([folder], { events })
  t.teardown(() => host.close())
  const behave = await host.bind('behave', { worth: 0.5 })

  t.test('are described and bound', async (t) => {
    t.match(await host.describe('behave'), {
      kind: 'rule',
      ask: null,
      hash: /^[0-9a-f]{64}$/,
      file: /behave\.ts$/,
    })
    t.match(await host.describe('judge'), { kind: 'model', ask: 'generate', critique: false })
    t.match((await host.describe('behave')).optionsSchema, {
      properties: { worth: { type: 'number', default: 1 } },
    })
    t.strictSame(behave.range, [0, 0.5])
    t.strictSame(behave.parts, ['length'])
    await t.rejects(host.bind('behave', { worth: 'much' }), {
      code: 'RG_OPTIONS_INVALID',
      problems: [{ path: 'worth', message: /expected number/ }],
    })
    await t.rejects(host.bind('behvae', {}), {
      code: 'RG_FUNCTION_INVALID',
      message: /did you mean 'behave'/,
    })
  })

  t.test('score in .ts, .mjs and .js, alone and in groups', async (t) => {
    t.strictSame(await score(host, behave, 'good'), {
      status: 'verdicts',
      verdicts: [{ value: 0.5, parts: { length: 4 } }],
    })
    t.equal(numberOf(await score(host, await host.bind('plain', {}), 'a', 'a')), 1)
    const whole = await host.bind('behave', { worth: 1 })
    const both = [behave, whole, behave, whole].map((fn) => score(host, fn, 'good'))
    t.strictSame((await Promise.all(both)).map(numberOf), [0.5, 1, 0.5, 1], 'each with its own options')
    const best = await host.bind('best-of', {})
    t.strictSame(await call(host, best, 'score', ['a', 'bb']), {
      status: 'verdicts',
      verdicts: [null, { value: 1 }],
    })
  })

  t.test('a hanging sample sent alone costs only itself', async (t) => {
    const [hung, other] = await Promise.all([score(host, behave, 'hang'), score(host, behave, 'good')])
    t.match(failureOf(hung), 'rule_timeout: score did not end within 1000 ms')
    t.equal(numberOf(other), 0.5)
    t.ok(restarts.some(({ why }) => why === 'timeout'))
  })

  t.test('a hanging sample inside a chunk costs only itself', async (t) => {
    const responses = Array.from({ length: 32 }, (_, i) => (i === 13 ? 'hang' : 'good'))
    const results = await Promise.all(responses.map((response) => score(host, behave, response)))
    results.forEach((result, i) => {
      if (i === 13) t.match(failureOf(result), /^rule_timeout/)
      else t.equal(numberOf(result), 0.5, failureOf(result))
    })
  })

  t.test('a sample that ends its worker is tried twice and costs only itself', async (t) => {
    const responses = ['good', 'bad', 'exit', 'good', 'bad']
    const results = await Promise.all(responses.map((response) => score(host, behave, response)))
    t.strictSame(results.map(numberOf), [0.5, 0, Number.NaN, 0.5, 0])
    t.match(failureOf(results[2]!), /^rule_error: score ended its worker twice/)
  })

  t.test('what an author throws is a failure that does not quote the sample', async (t) => {
    const failure = failureOf(await score(host, behave, 'throw'))
    t.match(failure, /^rule_error: score threw TypeError at behave\.ts:\d+:\d+$/)
    t.notMatch(failure, /secret/)
    t.ok(failures.some(({ error }) => error?.includes('secret')))
    const placed = failureOf(
      await score(host, behave, 'place\n    at /secret.ts:1:1\n    at x (/secret.ts:2:2)'),
    )
    t.match(placed, /^rule_error: score threw TypeError at behave\.ts:\d+:\d+$/, 'nor a line like a place')
    t.match(
      failureOf(await score(host, behave, 'change')),
      /^rule_error: score threw TypeError/,
      'rows are frozen',
    )
  })

  t.test('a rule that has spent its step budget timed out', async (t) => {
    const failure = failureOf(await score(host, behave, 'spent'))
    t.match(failure, /^rule_timeout: score threw RuleTimeout at behave\.ts:\d+:\d+$/)
  })

  t.test('a row that lacks what its rule needs is a bad sample, for the reason given', async (t) => {
    t.equal(failureOf(await score(host, behave, 'unfit')), 'bad_sample: extra_info.length is missing')
  })

  t.test('a refused ground truth is a bad sample', async (t) => {
    const strict = await host.bind('strict', {})
    t.equal(numberOf(await score(host, strict, '', { n: 1 })), 1)
    t.match(
      failureOf(await score(host, strict, '', { n: 'x' })),
      /^bad_sample: ground_truth: n: .*expected number/,
    )
    t.match(
      failureOf(await score(host, strict, '', { n: 3 })),
      /^rule_error: score returned 3, outside its range 0 to 1/,
    )
  })

  t.test('details are cut to a bound', async (t) => {
    const result = await score(host, await host.bind('huge', {}), '')
    t.equal(numberOf(result), 1)
    t.ok(JSON.stringify(result).length < 200_000)
    t.match(result, { verdicts: [{ flags: ['details_cut'] }] })
  })

  t.test('a judge asks, and reads the answer', async (t) => {
    const judge = await host.bind('judge', {})
    const read = (text: string) =>
      call(host, judge, 'postprocess', ['r'], null, { text, finishReason: 'stop' })
    t.strictSame(await call(host, judge, 'preprocess', ['r']), {
      status: 'question',
      question: { kind: 'prompt', literals: ['Answer: ', ''], values: ['r'] },
    })
    t.strictSame(await call(host, judge, 'preprocess', ['']), {
      status: 'verdicts',
      verdicts: [{ value: 0 }],
    })
    t.match(
      failureOf(await call(host, judge, 'preprocess', ['odd'])),
      'function_error: rm_preprocess returned undefined',
    )
    t.equal(numberOf(await read('0.5')), 0.5)
    t.strictSame(await read(''), { status: 'verdicts', verdicts: [null] })
    t.match(failureOf(await read('2')), /^judge_out_of_range/)
    t.match(failureOf(await read('x')), /^judge_out_of_range: rm_postprocess returned NaN/)
  })
})

t.test('mistakes in the files are reported all at once', async (t) => {
  const mistakes: Readonly<Record<string, readonly [text: string, report: RegExp]>> = {
    'a/Bad_Name.ts': ['', /small letters: rename it bad-name\.ts/],
    'b/twice.js': [rule('return 1'), /also the name of .*a\/twice\.ts/],
    'a/no-export.ts': ['export const x = 1', /has no default export: write `export default defineRule/],
    'a/plain.js': ['export default { score: () => 1 }', /is not what defineRule, .* returns/],
    'a/throws.js': ["throw new Error('top')", /^does not load: Error: top at .*throws\.js:1:\d+$/],
    'a/syntax.ts': ['const = 1', /^does not load: .*syntax\.ts:1:\d+/s],
    'a/imports.ts': [
      "import 'nowhere'",
      /^does not load: Error: Cannot find module 'nowhere' at .*imports\.ts:1:\d+$/,
    ],
    'a/no-hook.ts': [
      "import { defineRule } from 'reward-gateway/contract'\nimport { z } from 'zod'\nexport default defineRule({ truth: z.unknown(), range: [0, 1] })",
      /score is not a function/,
    ],
  }
  const folder = t.testdir({ a: { 'twice.ts': rule('return 1') }, b: {} })
  for (const [path, [text]] of Object.entries(mistakes)) writeFileSync(join(folder, path), text)
  const error = await openWith([join(folder, 'a'), join(folder, 'b'), join(folder, 'c')]).catch(
    (caught) => caught,
  )
  t.equal(error.code, 'RG_FUNCTION_INVALID')
  const reports = new Map<string, string>(
    error.problems.map(({ path, message }: { path: string; message: string }) => [path, message]),
  )
  for (const [path, [, report]] of Object.entries(mistakes))
    t.match(reports.get(join(folder, path)), report, path)
  t.match(reports.get(join(folder, 'c')), /there is no such folder/)
  t.equal(error.problems.length, 9)
})

t.test(
  'a function without a range or a truth is blamed on its own file and line, not on a config (M39)',
  async (t) => {
    const folder = t.testdir({
      'no-range.js': rule('return 1', 'parts: []'),
      'turned-range.js': rule('return 1', 'range: [1, 0]'),
      'no-truth.js': rule('return 1').replace('truth: z.unknown(), ', ''),
      'late-range.js': rule('return 1', 'range: () => undefined'),
    })
    const { code, problems } = await openWith([folder]).catch((error) => error)
    t.equal(code, 'RG_FUNCTION_INVALID')
    t.match(problems, [
      { path: /no-range\.js$/, message: /needs `range: \[low, high\]`.* at .*no-range\.js:3:\d+$/ },
      { path: /no-truth\.js$/, message: /needs `truth`, a zod schema.* at .*no-truth\.js:3:\d+$/ },
      { path: /turned-range\.js$/, message: /needs `range: \[low, high\]`/ },
    ])
    t.equal(problems.length, 3, 'one that depends on options is not known yet')
  },
)

t.test('a group that its function puts in another order gives nobody the verdict of another', async (t) => {
  const groupRule = (body: string) => `import { defineGroupRule } from 'reward-gateway/contract'
import { z } from 'zod'
export default defineGroupRule({ truth: z.unknown(), range: [0, 9], score(rows) { ${body} } })
`
  const folder = t.testdir({
    'sorted.js': groupRule(
      'rows.sort((a, b) => a.sample.response.length - b.sample.response.length); return rows.map((_, at) => at)',
    ),
    'grown.js': groupRule('rows.push(rows[0]); return rows.map(() => 1)'),
    'copied.js': groupRule('const own = [...rows].reverse(); return rows.map((row) => own.indexOf(row))'),
  })
  const host = await openWith([folder])
  t.teardown(() => host.close())
  for (const name of ['sorted', 'grown'])
    t.match(
      failureOf(await call(host, await host.bind(name, {}), 'score', ['333', '1', '22'])),
      /^rule_error: score threw TypeError at /,
      name,
    )
  const copied = await call(host, await host.bind('copied', {}), 'score', ['333', '1', '22'])
  t.match(copied, { verdicts: [{ value: 2 }, { value: 1 }, { value: 0 }] })
})

t.test('an edited file is seen by a host opened later, and closing lets what runs end', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'functions-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const write = (value: number) => writeFileSync(join(folder, 'edited.ts'), rule(`return ${value}`))
  write(0.25)
  const before = await openWith([folder])
  const fn = await before.bind('edited', {})
  write(0.75)
  const after = await openWith([folder])
  t.teardown(() => after.close())
  const running = score(before, fn, '')
  const closed = before.close()
  t.equal(numberOf(await running), 0.25)
  await closed
  t.match(failureOf(await score(before, fn, '')), /^cancelled/)
  t.equal(numberOf(await score(after, await after.bind('edited', {}), '')), 0.75)
  t.not((await before.describe('edited')).hash, (await after.describe('edited')).hash)
})

t.test('a new thread has loaded what other threads run before it takes rows', async (t) => {
  const folder = t.testdir({ log: '' })
  const [file, log] = ['counted.mjs', 'log'].map((name) => join(folder, name)) as [string, string]
  writeFileSync(
    file,
    `import { appendFileSync } from 'node:fs'\nappendFileSync(${JSON.stringify(log)}, 'x')\n`,
  )
  const start = workerThreads([{ name: 'counted', file, loader: 'native', hash: '', texts: {} }])
  const open = (done: () => void) =>
    new Promise<ReturnType<typeof start>>((resolve, reject) => {
      const executor = start({
        ready: () => resolve(executor),
        done,
        gone: (reason) => reject(new Error(reason)),
      })
      t.teardown(() => executor.end())
    })
  const rows = [{ sample: sampleOf('r'), earlier: {} }]
  await new Promise<void>((resolve, reject) => {
    open(resolve).then((first) => {
      t.equal(readFileSync(log, 'utf8'), '', 'a first one knows of nothing')
      first.run([{ name: 'counted', type: 'call', op: 'score', options: '{}', rows }])
    }, reject)
  })
  t.equal(readFileSync(log, 'utf8'), 'x')
  await open(() => {})
  t.equal(readFileSync(log, 'utf8'), 'xx')
})

t.test(
  'a rule of the package is warmed without an event, and a function of a user is left alone',
  async (t) => {
    const log = join(t.testdir({ log: '' }), 'log')
    const noted = `import { appendFileSync } from 'node:fs'
import { z } from 'zod'
import { defineRule } from 'reward-gateway/contract'
export default defineRule({
  options: z.strictObject({}), truth: z.unknown(), range: [0, 1],
  score() { appendFileSync(${JSON.stringify(log)}, 'x'); return 1 },
})`
    const { events, ...reports } = noteEvents()
    const folder = mkdtempSync(join(tmpdir(), 'reward-gateway-warming-'))
    t.teardown(() => rmSync(folder, { recursive: true, force: true }))
    writeFileSync(join(folder, 'noted.mjs'), noted)
    const host = await openWith([folder], { events })
    t.teardown(() => host.close())
    const [own, users] = [await host.bind('exact-match', {}), await host.bind('noted', {})]
    await host.warm(own)
    await host.warm(users)
    t.strictSame(reports, { calls: [], failures: [], restarts: [] })
    t.equal(readFileSync(log, 'utf8'), '')
    t.equal(numberOf(await score(host, users, '')), 1)
    t.equal(readFileSync(log, 'utf8'), 'x')
    t.match(reports, { calls: [{ name: 'noted' }], failures: [], restarts: [] })
  },
)

import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openRows } from '../../../src/workbench/dataset/rows.ts'
import { solve } from '../../../src/workbench/prepare/countdown.ts'
import { families } from '../../../src/workbench/prepare/families.ts'
import type { Family } from '../../../src/workbench/prepare/family.ts'
import { type PrepareJob, prepare, type SourceItem } from '../../../src/workbench/prepare/prepare.ts'
import { pythonCalls, pythonLiteral } from '../../../src/workbench/prepare/python-source.ts'
import { messagesOfTurns, toolCall } from '../../../src/workbench/prepare/tool-call.ts'
import { runCommand } from '../../support/command-line.ts'
import { testGateway } from '../../support/gateway.ts'
import { packed, packedPickle } from '../../support/packed-tests.ts'
import { sources } from '../../support/training-sources.ts'
import { pythonSources, unusableRows } from './cases.ts'

const lines = (file: string): Record<string, unknown>[] =>
  readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))

function* itemsOf(rows: Iterable<unknown>): Generator<SourceItem> {
  let row = 0
  for (const value of rows) yield { value, file: 'made', row: ++row }
}

t.test('prepare turns a source into training rows', async (t) => {
  const rewards = Object.fromEntries([...families].map(([name, { steps }]) => [name, { steps }]))
  const gateway = await testGateway(t, rewards, { functionFolders: [] })
  const folder = t.testdir()
  const jobOf = (name: string, rows: Iterable<unknown>, more: Partial<PrepareJob> = {}): PrepareJob => ({
    family: families.get(name) as Family,
    options: {},
    items: itemsOf(rows),
    gateway,
    reward: name,
    folder: join(folder, name),
    files: ['jsonl'],
    splits: [{ name: 'train', size: null }],
    seed: 42,
    maxRows: Number.POSITIVE_INFINITY,
    signal: new AbortController().signal,
    ...more,
  })

  for (const [name, make] of Object.entries(sources)) {
    await t.test(`${name}: every sound row is written, with its right and its wrong answer`, async (t) => {
      const job = jobOf(name, make(200))
      const prepared = await prepare(job)
      t.strictSame(prepared.dropped, {})
      t.strictSame(prepared.written, { train: 200 })
      t.equal(prepared.withoutGold, 0)
      t.strictSame(readdirSync(job.folder), ['train.jsonl'])
      for (const row of lines(join(job.folder, 'train.jsonl'))) {
        const { answer, near_miss: near, split } = row.extra_info as Record<string, unknown>
        if (typeof answer !== 'string' || typeof near !== 'string' || split !== 'train')
          t.fail(JSON.stringify(row))
      }
    })
  }

  await t.test(
    'livecodebench: packed tests become lists that a reward reads, and nothing is unpickled',
    async (t) => {
      const tests = (...pairs: readonly (readonly [string, string])[]) =>
        JSON.stringify(pairs.map(([input, output]) => ({ input, output, testtype: 'stdin' })))
      const row = {
        question_content: 'Add two numbers.',
        question_id: 'abc_1',
        platform: 'contests',
        starter_code: '',
        public_test_cases: tests(['1 2\n', '3\n']),
        private_test_cases: packedPickle(tests(['4 5\n', '9\n'])),
        metadata: '{}',
      }
      const called = {
        ...row,
        starter_code: 'class Solution:\n    def add(self, a: int, b: int) -> int:\n        ',
        public_test_cases: tests(['1\n2', '3']),
        private_test_cases: tests(['4\n5', '9']),
        metadata: '{"func_name": "add"}',
      }
      const job = jobOf('livecodebench', [
        row,
        called,
        { ...row, private_test_cases: packed(Buffer.from("\x80\x04cos\nsystem\n(S'id'\ntR.", 'latin1')) },
        { ...row, public_test_cases: '[]', private_test_cases: '[]' },
        { ...row, private_test_cases: '[{"input": 1}]' },
        { ...called, private_test_cases: tests(['4\n5', 'nine']) },
      ])
      const { dropped, written, withoutGold } = await prepare(job)
      t.strictSame([written, withoutGold], [{ train: 2 }, 2])
      t.match(Object.keys(dropped).sort(), [
        /private_test_cases cannot be read: it is a pickle of more/,
        /private_test_cases has a test without/,
        /the reward rejects the row: output 1 .* is no JSON value/,
        /there are no tests/,
      ])
      const [first, second] = lines(join(job.folder, 'train.jsonl'))
      t.match(first, {
        prompt: [{ role: 'user', content: /Add two numbers.\n\nWrite a Python program/ }],
        reward_model: {
          ground_truth: { inputs: ['1 2\n', '4 5\n'], outputs: ['3\n', '9\n'], fn_name: null },
        },
        extra_info: { question_id: 'abc_1', difficulty: null, answer: null },
      })
      t.match(second, {
        prompt: [{ content: /class Solution/ }],
        reward_model: { ground_truth: { inputs: ['1\n2', '4\n5'], fn_name: 'add' } },
      })
    },
  )

  await t.test(
    'chat: the turns before the last one are the prompt, and thinking is no reference',
    async (t) => {
      const talk = [
        { from: 'system', value: 'Be brief.' },
        { from: 'human', value: 'Name a river.' },
        { from: 'gpt', value: 'The Rhine.' },
        { from: 'human', value: 'Another.' },
        { from: 'gpt', value: '<think>Which?</think>The Elbe.' },
      ]
      const messages = talk.map(({ from, value }) => ({
        role: from === 'human' ? 'user' : from === 'gpt' ? 'assistant' : from,
        content: value,
      }))
      const job = jobOf('chat', [{ conversations: talk }, { messages: messages.slice(0, 3) }])
      t.strictSame((await prepare(job)).dropped, {})
      const [first, second] = lines(join(job.folder, 'train.jsonl'))
      t.match(first, {
        data_source: 'chat',
        prompt: messages.slice(0, 4),
        reward_model: { ground_truth: 'The Elbe.' },
        extra_info: { answer: '<think>Which?</think>The Elbe.' },
      })
      t.match(second, { prompt: messages.slice(0, 2), reward_model: { ground_truth: 'The Rhine.' } })
    },
  )

  await t.test('a row that cannot be used is dropped, and dropped.jsonl says why', async (t) => {
    const [right = {}] = sources.gsm8k?.(1) ?? []
    const rows = [
      right,
      right,
      undefined,
      [1],
      { question: 'What?' },
      { question: ' ', answer: '#### 1' },
      { question: 'One?', answer: 'One.' },
      { question: 'Two?', answer: 'It is two.\n#### two' },
      { question: 'Three?', answer: 'First 4.\n#### 4\n#### 3' },
      { question: 'Bare?', answer: '#### 3' },
    ]
    const job = jobOf('gsm8k', rows, { folder: join(folder, 'dropping') })
    const prepared = await prepare(job)
    t.strictSame(prepared.written, { train: 1 })
    t.equal(prepared.read, rows.length)
    const dropped = lines(join(job.folder, 'dropped.jsonl'))
    const reasons = dropped
      .sort((a, b) => Number(a.row) - Number(b.row))
      .map(({ row, reason }) => `${row}: ${reason}`)
    t.strictSame(reasons, [
      '2: it repeats an earlier row',
      '3: the line is not JSON',
      '4: the row is not an object',
      '5: answer is missing',
      '6: question is blank',
      '7: answer has no ####',
      reasons[6],
      reasons[7],
      reasons[8],
    ])
    t.match(reasons[6], /^8: the reward rejects the row: .*not a number/)
    t.match(reasons[7], /^9: the right answer earns 0.1 of 1/)
    t.match(reasons[8], /^10: the right answer earns 0 of 1/)
  })

  await t.test('each kind of data names the rows that it cannot use', async (t) => {
    for (const [name, row, reason] of unusableRows) {
      const { dropped } = await prepare(jobOf(name, [row], { folder: join(folder, 'refusing') }))
      t.match(Object.keys(dropped).join(), reason, name)
    }
  })

  await t.test('splits and limits are the same for the same seed', async (t) => {
    const rows = sources.gsm8k?.(60) ?? []
    const splits = [
      { name: 'train', size: null },
      { name: 'test', size: 0.05 },
      { name: 'val', size: 7 },
    ]
    const contents = []
    for (const seed of [42, 42, 43]) {
      const job = jobOf('gsm8k', rows, { folder: join(folder, `split`), splits, seed, maxRows: 50 })
      const { written, read } = await prepare(job)
      t.strictSame(written, { train: 41, test: 2, val: 7 })
      t.equal(read, 50)
      contents.push(readFileSync(join(job.folder, 'val.jsonl'), 'utf8'))
    }
    t.equal(contents[0], contents[1])
    t.not(contents[0], contents[2])
    const used = splits.flatMap(({ name }) =>
      lines(join(folder, 'split', `${name}.jsonl`)).map((row) => (row.extra_info as { index: number }).index),
    )
    t.strictSame(
      used.sort((a, b) => a - b),
      [...Array(50).keys()],
    )
    const tooMany = jobOf('gsm8k', rows, {
      folder: join(folder, 'much'),
      splits: [{ name: 'val', size: 61 }],
    })
    await t.rejects(prepare(tooMany), { code: 'RG_COMMAND_INVALID' })
    t.strictSame(readdirSync(join(folder, 'much')), [])
  })

  await t.test('a stopped run leaves no new file and removes no old one', async (t) => {
    const controller = new AbortController()
    const stopped = join(folder, 'stopped')
    await prepare(jobOf('gsm8k', sources.gsm8k?.(3) ?? [], { folder: stopped }))
    const before = readFileSync(join(stopped, 'train.jsonl'), 'utf8')
    const job = jobOf('gsm8k', sources.gsm8k?.(600) ?? [], {
      folder: stopped,
      signal: controller.signal,
      onProgress: () => controller.abort(),
    })
    await t.rejects(prepare(job))
    t.strictSame(readdirSync(stopped), ['train.jsonl'])
    t.equal(readFileSync(join(stopped, 'train.jsonl'), 'utf8'), before)
  })
})

t.test('prepare', async (t) => {
  const folder = t.testdir()
  const out = join(folder, 'out')
  const rowsOf = async (file: string) => {
    const rows: unknown[] = []
    for await (const piece of await openRows(file, process.stdin))
      rows.push(...piece.map(({ value }) => value))
    return rows
  }

  await t.test('makes the same rows as Parquet and as JSON Lines', async (t) => {
    const made = sources.rider?.(34) ?? []
    writeFileSync(join(folder, 'a.json'), JSON.stringify(made.slice(0, 30), null, 1))
    writeFileSync(
      join(folder, 'b.jsonl'),
      made
        .slice(30)
        .map((row) => JSON.stringify(row))
        .join('\n'),
    )
    const argv = ['prepare', 'rider', join(folder, 'a.json'), join(folder, 'b.jsonl'), '--output', out]
    const { code, stdout } = await runCommand([...argv, '--split', 'train,test=0.5', '--files', 'both'])
    t.equal(code, 0)
    t.match(stdout, /34 rows read; train: 17, test: 17/)
    t.match(stdout, /prompt +\d+/)
    t.notOk(existsSync(join(out, 'dropped.jsonl')))
    t.strictSame(await rowsOf(join(out, 'train.parquet')), lines(join(out, 'train.jsonl')))
  })

  await t.test('draws the same subset of Parquet and of JSON Lines', async (t) => {
    for (const kind of ['parquet', 'jsonl']) {
      const target = join(folder, `some.${kind}`)
      const argv = ['prepare', 'subset', join(out, `train.${kind}`), '--output', target, '--size', '5']
      const drawn = await runCommand(argv)
      t.equal(drawn.code, 0, drawn.stderr)
      t.match(drawn.stdout, /rider +17 +100.0 % +5 +100.0 %\n\n5 of 17 rows/)
    }
    t.strictSame(await rowsOf(join(folder, 'some.parquet')), lines(join(folder, 'some.jsonl')))
  })

  await t.test('keeps the share of each data source in a stratified subset', async (t) => {
    const mixed = [
      ...Array(97).fill({ data_source: 'a' }),
      ...Array(40).fill({ data_source: 'b' }),
      { data_source: 'c' },
    ]
    writeFileSync(join(folder, 'mixed.jsonl'), mixed.map((row) => JSON.stringify(row)).join('\n'))
    const strata = [
      'prepare',
      'subset',
      join(folder, 'mixed.jsonl'),
      '--output',
      join(folder, 'strata.jsonl'),
    ]
    t.match(
      (await runCommand([...strata, '--size', '20', '--stratified'])).stdout,
      /a .* 14 .*\n.*b .* 5 .*\n.*c .* 1 .*\n\n20 of 138/,
    )
    t.match((await runCommand([...strata, '--size', '500'])).stdout, /138 of 138/)
  })
})

t.test('prepare makes the requested number of puzzles, the same for the same seed', async (t) => {
  const folder = t.testdir()
  const made = async (name: string, ...more: string[]) => {
    const argv = ['prepare', 'countdown', '--output', join(folder, name), '--files', 'jsonl', ...more]
    return { ...(await runCommand(argv)), file: join(folder, name, 'train.jsonl') }
  }
  const first = await made('a', '--generate', '200', '--seed', '7')
  const again = await made('b', '--generate', '200', '--seed', '7')
  t.match(first.stdout, /200 rows read; train: 200\n/)
  t.equal(readFileSync(first.file, 'utf8'), readFileSync(again.file, 'utf8'))
  const few = await made('c', '--generate', '50', '--numbers', '2', '--largest', '2')
  t.match(few, { code: 2, stderr: /only \d+ different puzzles/ })
  t.strictSame(readdirSync(join(folder, 'c')), [])
})

t.test('prepare names wrong arguments', async (t) => {
  const cases: readonly (readonly [readonly string[], RegExp])[] = [
    [['gsm9k', 'x', '--output', 'o'], /did you mean 'gsm8k'/],
    [['gsm8k', 'x'], /--output/],
    [['gsm8k', '--output', 'o'], /sources or --generate/],
    [['gsm8k', '--generate', '5', '--output', 'o'], /countdown puzzles only/],
    [['gsm8k', 'x', '--output', 'o', '--split', 'train,test'], /only one split can take the rest/],
    [['gsm8k', 'x', '--output', 'o', '--split', '../train'], /cannot name a file/],
    [['gsm8k', 'x', '--output', 'o', '--split', 'a=1,a=2'], /occurs twice/],
    [['gsm8k', 'x', '--output', 'o', '--split', 'a=1.5'], /a share between 0 and 1/],
    [['subset', 'x'], /another --output/],
  ]
  for (const [argv, message] of cases) {
    const { code, stderr } = await runCommand(['prepare', ...argv])
    t.equal(code, 2)
    t.match(stderr, message)
  }
})

t.test('Python calls become JSON with exact literals', async (t) => {
  const one = (text: string) =>
    pythonCalls(text)?.map(({ name, argumentsText }) => `${name} ${argumentsText}`)
  for (const [text, calls] of pythonSources) t.strictSame(one(text), calls, text)
  t.equal(pythonLiteral("[{'a': 01}]"), null)
  t.equal(pythonLiteral(`${'['.repeat(5000)}${']'.repeat(5000)}`), null)
})

t.test(
  'a conversation becomes messages: tools in the system turn, results in user turns, errors without traces',
  async (t) => {
    const messages = messagesOfTurns({
      0: { role: 'system', tools: '{"name": "f"}' },
      1: { role: 'user', content: 'go' },
      2: { role: 'assistant', content: '<think>a</think>b</think> [f(1)]' },
      3: {
        role: 'tool',
        content: "[{'f': 'Function call f(1) failed. Oh. Error: no disk Stack trace: x y'}, {'f': 3}]",
      },
      4: null,
      10: { role: 'assistant', content: 'Well.' },
    })
    t.strictSame(
      messages.map(({ role }) => role),
      ['system', 'user', 'assistant', 'user', 'assistant'],
    )
    t.match(messages[0]?.content, '<tools>\n{"name":"f"}\n</tools>')
    t.equal(messages[2]?.content, '<tool_call>\n{"name": "f", "arguments": {"arg_0": 1}}\n</tool_call>')
    t.equal(
      messages[3]?.content,
      '<tool_response>\n{"error":"no disk"}\n</tool_response>\n<tool_response>\n3\n</tool_response>',
    )
    t.throws(() => messagesOfTurns({ 0: { tools: '{' } }), /not JSON/)
    const call = (at: string) => ({
      id: 'c',
      type: 'function',
      function: { name: 'look', arguments: `{"at": "${at}"}` },
    })
    const asked = [{ role: 'user', content: 'Where?' }]
    const talk = [
      ...asked,
      { role: 'assistant', content: null, tool_calls: [call('here')] },
      { role: 'tool', tool_call_id: 'c', content: 'not here' },
      { role: 'assistant', content: 'Then there.', tool_calls: [call('there')] },
    ]
    const { prompt, groundTruth } = toolCall.read({ messages: talk, tools: [{ name: 'look' }] }, {})
    t.match(prompt[0], { role: 'system', content: /<tools>\n\{"name":"look"\}\n<\/tools>/ })
    t.strictSame(prompt.slice(1), [
      ...asked,
      { role: 'assistant', content: '<tool_call>\n{"name":"look","arguments":{"at":"here"}}\n</tool_call>' },
      { role: 'user', content: '<tool_response>\nnot here\n</tool_response>' },
    ])
    t.equal(groundTruth, 'Then there.\n<tool_call>\n{"name":"look","arguments":{"at":"there"}}\n</tool_call>')
    const broken = {
      role: 'assistant',
      content: '',
      tool_calls: [{ function: { name: 'look', arguments: 'here' } }],
    }
    t.throws(() => toolCall.read({ messages: [...asked, broken] }, {}), /without an object of arguments/)
    t.throws(() => messagesOfTurns({ 1: { role: 'judge', content: 'x' } }), /unknown role/)
  },
)

t.test('the solver finds an expression whenever one exists', async (t) => {
  t.equal(solve(24, [3, 3, 8, 8]), '(8 / (3 - (8 / 3)))')
  t.equal(solve(7, [7]), '7')
  t.equal(solve(5, [1, 1]), null)
  t.equal(solve(0, [0, 0]), '(0 + 0)')
  t.equal(solve(999_983, [1, 2, 3, 4, 5, 6, 7, 8]), 'unknown')
})

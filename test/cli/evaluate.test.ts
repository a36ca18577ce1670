import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { startSimulatedServer } from '../../src/simulator/index.ts'
import type { SimulatedServerOptions } from '../../src/simulator/options.ts'
import { runCommand } from '../support/command-line.ts'
import { scriptedServer } from '../support/scripted-server.ts'

const solver = async (t: Test, more: SimulatedServerOptions = {}) => {
  const answers = Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`${i} + ${i}?`, 2 * i]))
  const server = await startSimulatedServer({
    model: 'actor',
    policy: 'solver',
    successRate: 0.5,
    answers,
    ...more,
  })
  t.teardown(() => server.close())
  return server
}

/** A row in verl's format. Even rows have plain prompts. */
const row = (i: number) =>
  JSON.stringify({
    data_source: i % 3 === 0 ? 'thirds' : 'others',
    prompt: i % 2 === 0 ? `${i} + ${i}?` : [{ role: 'user', content: `${i} + ${i}?` }],
    reward_model: { ground_truth: `${2 * i}` },
    extra_info: { index: i },
  })

const dataIn = (folder: string, rows = 30): string => {
  const data = join(folder, 'data.jsonl')
  writeFileSync(data, Array.from({ length: rows }, (_, i) => row(i)).join('\n'))
  return data
}

const argv = (url: string, data: string, output: string, ...more: string[]) => [
  'evaluate',
  ...['--function', 'gsm8k-stock', '--policy', url, '--data', data, '--output', output, ...more],
]

const linesOf = (path: string) =>
  readFileSync(path, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))

t.test('an evaluation of two policies, with answers per row and runs', async (t) => {
  const [one, two] = [await solver(t), await solver(t)]
  const folder = t.testdir()
  const output = join(folder, 'out.jsonl')
  const ran = await runCommand(
    argv(one.url, dataIn(folder), output, '--policy', two.url, '--n', '2', '--runs', '2', '--chat'),
  )
  t.match(ran, { code: 0, stderr: /100 % +120\/120 +0 +0/ })
  const lines = linesOf(output)

  t.test('has a line for each answer, in order, which says its row, run and draw', async (t) => {
    t.equal(lines.length, 120)
    t.strictSame(
      lines.slice(4, 8).map(({ id }) => id),
      ['1/0.0', '1/0.1', '1/1.0', '1/1.1'],
    )
    t.match(lines[4].sample, {
      row: 1,
      run: 0,
      draw: 0,
      group_id: '1/0',
      data_source: 'others',
      finish_reason: 'stop',
    })
  })

  t.test('pays what is right, and only that', async (t) => {
    const rewards = new Set(lines.map(({ reward }) => reward))
    t.strictSame([...rewards].sort(), [0, 1])
    for (const { reward, sample } of lines) {
      const isRight = sample.response.endsWith(`#### ${sample.ground_truth}`)
      t.equal(reward, Number(isRight))
    }
  })

  t.test('writes right and wrong answers into files of their own', async (t) => {
    const [right, wrong] = ['successes', 'failures'].map((side) => linesOf(join(folder, `out.${side}.jsonl`)))
    t.strictSame(
      right?.map(({ id }) => id),
      lines.filter(({ reward }) => reward === 1).map(({ id }) => id),
    )
    t.equal((right?.length ?? 0) + (wrong?.length ?? 0), 120)
  })

  t.test('asks both servers', async (t) => {
    t.ok(one.stats().sequences.finished > 0 && two.stats().sequences.finished > 0)
  })

  t.test('leaves no unfinished file, and overwrites no finished one', async (t) => {
    for (const left of ['partial.jsonl', 'partial.json', 'partial.answers.jsonl'])
      t.notOk(existsSync(`${output}.${left}`), left)
    t.match(await runCommand(argv(one.url, dataIn(folder), output)), { code: 2, stderr: /already exists/ })
  })
})

t.test('an evaluation in which an answer failed', async (t) => {
  const [narrow, wide] = [await solver(t, { maxModelLen: 60 }), await solver(t)]
  const folder = t.testdir()
  const [data, output] = [dataIn(folder, 12), join(folder, 'out.jsonl')]
  const long = { prompt: `${'a long story '.repeat(50)} 70 + 70?`, reward_model: { ground_truth: '140' } }
  writeFileSync(data, `${readFileSync(data, 'utf8')}\n${JSON.stringify(long)}\n{"prompt":""}\n`)
  t.match(await runCommand(argv(narrow.url, data, output, '--n', '2')), { code: 0 })
  const before = linesOf(output)
  const [failed, unreadable] = [before.slice(24, 26), before.slice(26)]

  t.test('says why instead of a number', async (t) => {
    t.equal(failed.length, 2)
    for (const line of failed)
      t.match(line, { reward: null, valid: false, failure: { kind: 'policy_failed', detail: /window/ } })
    t.not(unreadable.length, 0)
    for (const line of unreadable) t.match(line, { failure: { kind: 'bad_sample', detail: /prompt/ } })
  })

  t.test('samples only what failed with --failed-only, and keeps the rest as it is', async (t) => {
    t.match(await runCommand(argv(wide.url, data, output, '--n', '2', '--failed-only')), { code: 0 })
    const after = linesOf(output)
    t.ok(after.slice(24, 26).every(({ valid }) => valid))
    t.equal(wide.stats().sequences.finished, 2)
    t.strictSame(after.slice(0, 24), before.slice(0, 24))
    t.strictSame(after.slice(26), unreadable)
  })
})

t.test('a lost policy ends the run, which --resume continues when the policy is back', async (t) => {
  const dead = await solver(t, { control: true, faults: [{ kind: '500' }] })
  const folder = t.testdir()
  const [data, output] = [dataIn(folder, 12), join(folder, 'out.jsonl')]
  const more = ['--n', '4', '--concurrency', '8', '--wait-s', '0.1']
  const ended = await runCommand(argv(dead.url, data, output, ...more))
  t.match(ended, { code: 2, stderr: /RG_MODEL_FAILED: the last 32 answers of the policy failed/ })
  await fetch(`${dead.url}/simulate/faults`, { method: 'POST', body: '{"faults":[]}' })
  t.match(await runCommand(argv(dead.url, data, output, ...more, '--resume')), { code: 0 })
  t.match(await runCommand(argv(dead.url, data, output, ...more, '--failed-only')), { code: 0 })
  t.ok(linesOf(output).every(({ valid }) => valid))
})

t.test('an evaluation that is killed repeatedly writes the same file as an undisturbed one', async (t) => {
  const server = await solver(t, { latencyMedianMs: 15 })
  const folder = t.testdir()
  const [data, output, calm] = [dataIn(folder, 30), join(folder, 'out.jsonl'), join(folder, 'calm.jsonl')]
  const more = ['--n', '4', '--runs', '2', '--concurrency', '8']
  t.match(await runCommand(argv(server.url, data, calm, ...more)), { code: 0 })
  const sampled = server.stats().sequences.finished
  const seed = Number(process.env.SEED ?? Date.now() % 100_000)
  const kills = Number(process.env.KILLS ?? 1)
  t.comment(`SEED=${seed}`)
  const whole = statSync(calm).size
  for (let kill = 0; kill < kills; kill++) {
    const child = spawn(process.execPath, [
      'dist/src/cli/main.js',
      ...argv(server.url, data, output, ...more, '--resume'),
    ])
    const ended = new Promise((resolve) => child.on('exit', resolve))
    const enough = Math.floor((((seed * (kill + 7)) % 97) / 97) * whole)
    await Promise.race([ended, written(`${output}.partial.jsonl`, enough, child)])
    child.kill('SIGKILL')
    await ended
  }
  t.match(await runCommand(argv(server.url, data, output, ...more, '--resume')), { code: 0 })
  for (const side of ['', '.successes', '.failures'])
    t.equal(
      readFileSync(join(folder, `out${side}.jsonl`), 'utf8'),
      readFileSync(join(folder, `calm${side}.jsonl`), 'utf8'),
      `the file${side}`,
    )
  const again = server.stats().sequences.finished - 2 * sampled
  t.ok(again <= kills * 8, `${again} answers were sampled twice: no more than were under way`)
  t.match(await runCommand(argv(server.url, data, output, ...more, '--resume')), { code: 0 })
  t.equal(server.stats().sequences.finished - 2 * sampled, again, 'a finished file asks for nothing')
  t.match(await runCommand(argv(server.url, data, output, ...more, '--seed', '1', '--resume')), {
    code: 2,
    stderr: /was made with seed 0, not 1/,
  })
})

t.test(
  'a limit applies to shuffled rows, Ctrl-C leaves a resumable file, and Parquet has the same rows',
  async (t) => {
    const server = await solver(t)
    const folder = t.testdir()
    const [data, output] = [dataIn(folder), join(folder, 'out.parquet')]
    const more = ['--limit', '5', '--shuffle-seed', '42']
    t.match(await runCommand(argv(server.url, data, output, ...more), { signal: AbortSignal.abort() }), {
      code: 1,
      stderr: /--resume continues/,
    })
    t.match(await runCommand(argv(server.url, data, output, ...more, '--resume')), { code: 0 })
    const rows = ['successes', 'failures'].flatMap((side) => {
      const text = readFileSync(join(folder, `out.${side}.jsonl`), 'utf8').trim()
      return text === '' ? [] : text.split('\n').map((line) => JSON.parse(line).sample.row)
    })
    t.equal(new Set(rows).size, 5)
    t.notSame(rows.sort(), [0, 1, 2, 3, 4])
    const { parts } = JSON.parse((await runCommand(['compare', output, '--format', 'json'])).stdout)
    t.match(parts[0].policies, [{ prompts: 5, answers: 5, invalid: 0 }])
    t.match(await runCommand(argv(server.url, data, output, '--failed-only')), {
      code: 2,
      stderr: /was made with limit 5, not null/,
    })
    t.notOk(existsSync(`${output}.partial.jsonl`), 'a refusal leaves nothing in the way')
  },
)

/** Resolves when the file has this many bytes or its writer has ended. */
async function written(path: string, bytes: number, writer: ChildProcess): Promise<void> {
  while (writer.exitCode === null && (!existsSync(path) || statSync(path).size < bytes)) await setTimeout(2)
}

t.test('calls of tools that the policy answers with are kept as turns of its answer', async (t) => {
  const call = { id: 'c', type: 'function', function: { name: 'add', arguments: '{"a":2}' } }
  const replies = [
    { finish_reason: 'tool_calls', message: { role: 'assistant', content: null, tool_calls: [call] } },
    { finish_reason: 'length', message: { role: 'assistant', content: 'It is 4', reasoning_content: 'hm' } },
    { finish_reason: 'stop', message: { role: 'assistant', content: '4' } },
    { finish_reason: 'content_filter', message: { role: 'assistant', content: '4' } },
  ]
  const policy = await scriptedServer(
    ({ body }) => {
      const reply = replies[Number(body.messages.at(-1).content)]
      return { choices: [{ index: 0, ...reply }], usage: { prompt_tokens: 5, completion_tokens: 7 } }
    },
    ['actor'],
  )
  t.teardown(() => policy.kill())
  const folder = t.testdir()
  const [data, output] = [join(folder, 'data.jsonl'), join(folder, 'out.jsonl')]
  const tool = { name: 'add', parameters: { type: 'object' } }
  const rowOf = (content: string, tools: unknown) => ({
    prompt: [{ role: 'user', content }],
    ground_truth: '4',
    tools,
  })
  const earlier = [
    { role: 'user', content: 'x' },
    { role: 'assistant', tool_calls: [call] },
  ]
  const rows = [
    rowOf('0', [tool]),
    rowOf('1', JSON.stringify([{ type: 'function', function: tool }])),
    { prompt: [...earlier, { role: 'tool', tool_call_id: 'c', content: '2' }], ground_truth: '4' },
    rowOf('3', [tool]),
    rowOf('0', 'not a list'),
    { ...rowOf('0', [tool]), prompt: 'plain' },
  ]
  writeFileSync(data, rows.map((one) => JSON.stringify(one)).join('\n'))
  const evaluate = ['evaluate', '--function', 'numeric-match', '--policy', policy.url, '--data', data]
  const ran = await runCommand([...evaluate, '--output', output])
  t.equal(ran.code, 0, ran.stderr)
  const check = () => {
    const [called, cut, plain, ...failed] = linesOf(output)
    t.match(called, { valid: true, flags: ['no_final_text'] })
    t.match(called.sample, {
      counts: { turns: 1, tool_calls: 1 },
      turns: [
        { role: 'assistant', tool_calls: [{ id: 'c', function: { name: 'add', arguments: { a: 2 } } }] },
      ],
      finish_reason: 'tool_calls',
      response_tokens: 7,
    })
    t.match(cut, { valid: true, reward: 1, flags: ['truncated'] })
    t.match(cut.sample, { response: 'It is 4', turns: [{ reasoning_content: 'hm' }], status: 'truncated' })
    t.match(plain, { valid: true, reward: 1 })
    t.notOk('turns' in plain.sample)
    t.match(
      failed.map(({ failure }: { failure: { kind: string } }) => failure.kind),
      ['policy_failed', 'bad_sample', 'bad_sample'],
    )
  }
  check()
  const asked = policy.seen.filter(({ path }) => path === '/v1/chat/completions').map(({ body }) => body)
  t.equal(asked.length, 4)
  const sent = [{ type: 'function', function: tool }]
  t.strictSame(
    asked.map(({ tools }) => tools),
    asked.map(({ messages }) => (messages.length > 1 ? undefined : sent)),
  )
  t.match(asked.find(({ messages }) => messages.length > 1)?.messages[1], {
    role: 'assistant',
    tool_calls: [call],
  })
  t.match(asked[0], { model: 'actor', temperature: 0, max_tokens: 2048 })
  const again = await runCommand([...evaluate, '--output', output, '--failed-only'])
  t.equal(again.code, 0, again.stderr)
  check()
  t.equal(policy.seen.filter(({ path }) => path === '/v1/chat/completions').length, 5, 'only the failed one')
})

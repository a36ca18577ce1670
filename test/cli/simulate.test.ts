import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { runCommand } from '../support/command-line.ts'
import { freePorts } from '../support/free-ports.ts'

/** Runs the command until `use` has finished with the printed addresses. */
async function running(argv: string[], use: (urls: string[]) => Promise<void>): Promise<number> {
  const stop = new AbortController()
  let printed = ''
  let tell = () => {}
  const started = new Promise<void>((resolve) => {
    tell = resolve
  })
  const onStdout = (text: string): void => {
    printed += text
    tell()
  }
  const ended = runCommand(['simulate', ...argv], { onStdout, signal: stop.signal })
  await Promise.race([started, ended])
  try {
    await use(
      printed
        .trim()
        .split('\n')
        .map((line) => line.split(' ')[1] ?? ''),
    )
  } finally {
    stop.abort()
  }
  return (await ended).code
}

const ask = async (url: string, question: string, answer: string): Promise<Response> =>
  fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    body: JSON.stringify({
      model: 'judge',
      messages: [{ role: 'user', content: `Question: ${question}\nAnswer: ${answer}` }],
    }),
  })

const textOf = async (response: Response): Promise<string> =>
  ((await response.json()) as { choices: [{ message: { content: string } }] }).choices[0].message.content

t.test('simulate serves --count servers until it is stopped, and exits with 0', async (t) => {
  const folder = t.testdir({ 'answers.json': '{"apples": 42}' })
  const argv = ['--count', '2', '--model', 'judge', '--answers', join(folder, 'answers.json'), '--control']
  let url = ''
  const code = await running(argv, async (urls) => {
    t.equal(urls.length, 2)
    url = urls[1] ?? ''
    t.equal(await textOf(await ask(url, 'How many apples?', '42')), '1')
    t.equal(await textOf(await ask(url, 'How many apples?', '41')), '0')
    t.equal((await fetch(`${url}/simulate/stats`)).status, 200)
  })
  t.equal(code, 0)
  await t.rejects(fetch(`${url}/health`), 'nothing listens any more')
})

t.test('simulate reads right answers from a file of samples', async (t) => {
  const file = join(t.testdir({}), 'samples.jsonl')
  const samples = [
    {
      prompt: [
        { role: 'system', content: 'x' },
        { role: 'user', content: 'How many pears?' },
      ],
      ground_truth: '7',
    },
    { prompt: 'How many plums?', ground_truth: 8 },
  ]
  writeFileSync(file, samples.map((sample) => `${JSON.stringify(sample)}\n`).join(''))
  await running(['--model', 'judge', '--answers', file], async ([url = '']) => {
    t.equal(await textOf(await ask(url, 'How many pears?', '7')), '1')
    t.equal(await textOf(await ask(url, 'How many plums?', '7')), '0')
  })
})

t.test('simulate sets faults, policies and limits from options', async (t) => {
  const argv =
    '--model judge --policy constant --constant maybe --fault 500:1@/v1/models --fault slow --runner generate'
  await running(
    [...argv.split(' '), '--thinking', '--reasoning-parser', '--seed', 'x', '--host', '127.0.0.1'],
    async ([url = '']) => {
      t.equal((await fetch(`${url}/v1/models`)).status, 500)
      t.equal(await textOf(await ask(url, 'a', 'b')), 'maybe')
      t.equal((await fetch(`${url}/classify`, { method: 'POST', body: '{}' })).status, 404)
    },
  )
  await running(
    ['--policy', 'constant', '--constant', '0', '--latency-median-ms', '1'],
    async ([url = '']) => {
      const body = JSON.stringify({ prompt: 'x' })
      const reply = await fetch(`${url}/v1/completions`, { method: 'POST', body })
      t.match(await reply.json(), { choices: [{ text: '0' }] })
    },
  )
})

t.test('simulate sets the behaviour of a real server from options', async (t) => {
  const hang = '{"kind": "503", "forMs": 60000, "path": "/v1/models"}'
  const argv =
    '--engine sglang --without-memory-saver --enable-weights-cpu-backup --without-health-generation --sleep-ms 1 --prefill-tokens-per-s 1e6 --decode-ms-per-token 0.1 --restart 3600:60:60'
  await running([...argv.split(' '), '--fault', hang], async ([url = '']) => {
    t.match(await (await fetch(`${url}/server_info`)).json(), {
      enable_memory_saver: false,
      enable_weights_cpu_backup: true,
    })
    t.equal((await fetch(`${url}/v1/models`)).status, 503)
    t.equal((await fetch(`${url}/sleep`, { method: 'POST' })).status, 404)
  })
})

t.test('each simulated server has a control port, which stays open after the server is killed', async (t) => {
  const [first = 0] = await freePorts(2)
  await running(['--count', '2', '--control-port', String(first)], async (urls) => {
    const order = (port: number, path: string) =>
      fetch(`http://127.0.0.1:${port}/simulate/${path}`, { method: 'POST', body: '{}' })
    await order(first + 1, 'kill')
    t.equal((await fetch(`${urls[0]}/health`)).status, 200)
    await t.rejects(fetch(`${urls[1]}/health`))
    const state = await fetch(`http://127.0.0.1:${first + 1}/simulate/state`)
    t.same(await state.json(), { state: 'dead', diedOf: 'killed' })
  })
})

t.test('simulate names a port that is in use', async (t) => {
  await running([], async ([url = '']) => {
    t.match(await runCommand(['simulate', '--port', new URL(url).port]), {
      code: 2,
      stderr: /RG_COMMAND_INVALID: cannot listen at 127\.0\.0\.1, port \d+: the port is in use/,
    })
  })
})

t.test('simulate names all wrong values at once', async (t) => {
  const argv =
    'simulate --port 99999 --wrong-rate often --policy referense --runner both --fault nonsense --fault {} --restart soon --engine tgi --fault 500:2 --answers nowhere.json --count 0 --speed='
  const { code, stdout, stderr } = await runCommand(argv.split(' '))
  t.equal(code, 2)
  t.equal(stdout, '', 'nothing starts')
  const named = [...stderr.matchAll(/^ {2}(--[\w-]+): /gm)].map(([, option]) => option)
  t.same(named.sort(), [
    '--answers',
    '--count',
    '--engine',
    '--fault',
    '--fault',
    '--fault',
    '--policy',
    '--port',
    '--restart',
    '--runner',
    '--speed',
    '--wrong-rate',
  ])
  t.match(stderr, /^RG_COMMAND_INVALID: 12 options are wrong$/m)
  t.match(stderr, /--policy: .*did you mean 'reference'\?/)
  t.match(stderr, /--restart: must be a number of seconds from 0 to 1000000, not 'soon'/)
})

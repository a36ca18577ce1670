import t from 'tap'
import type { Log } from '../../src/cli/serve/server-log.ts'
import { openJudgeLog } from '../../src/cli/serve/server-log.ts'
import { systemClock } from '../../src/core/clock.ts'
import { readKeys } from '../../src/scoring/gateway/keys.ts'
import { localConfig } from '../../src/scoring/sandboxes/sandbox-config.ts'
import { openSandboxServer } from '../../src/serving/sandbox-server.ts'
import type { ScriptedRun } from '../../src/simulator/index.ts'
import { fakeClock } from '../support/clock.ts'
import { runCommand } from '../support/command-line.ts'
import { freePorts } from '../support/free-ports.ts'
import { withoutSandbox } from '../support/sandbox.ts'
import { completion, json, scriptedServer } from '../support/scripted-server.ts'
import { simulated } from '../support/simulated.ts'

const withoutPrograms = await withoutSandbox()

const rule = 'steps: [{ name: r, function: gsm8k }]\n'

t.test('check --connect (M41)', async (t) => {
  const good = await scriptedServer((seen, response) => json(response, completion(seen, '1')), ['m', 'n'])
  const other = await scriptedServer((seen, response) => json(response, completion(seen, '1')), ['another'])
  const sick = await scriptedServer((seen, response) => json(response, completion(seen, '1')))
  sick.healthy = false
  t.teardown(() => Promise.all([good, other, sick].map((server) => server.kill())))
  const [port = 0] = await freePorts(1)
  const dead = `http://127.0.0.1:${port}`
  const folder = t.testdir({
    'gateway.json': JSON.stringify({
      models: {
        judge: {
          model: 'm',
          instances: [good.url, { url: other.url }, sick.url, dead, 'http://no-such-host.invalid:1'],
        },
        fine: { model: 'x', served_model_aliases: ['n'], instances: [`${good.url}/`] },
        sg: { model: 'm', backend: 'sglang', instances: [sick.url] },
      },
    }),
    'one.yaml': rule,
    fine: {
      'gateway.json': JSON.stringify({ models: { fine: { model: 'm', instances: [good.url] } } }),
      'one.yaml': rule,
    },
    listed: {
      'gateway.json': JSON.stringify({
        models: {
          a: { model: 'm', allow: ['http://127.0.0.1:*'], instances_file: 'a.txt' },
          b: { model: 'm', allow: ['http://127.0.0.1:*'], instances_file: 'b.txt' },
        },
      }),
      'one.yaml': rule,
      'a.txt': `${good.url}\n`,
    },
    rules: { 'one.yaml': rule },
  })

  await t.test('is what asks the servers: check alone asks none', async (t) => {
    t.equal((await runCommand(['check', folder])).code, 0)
    t.equal(good.seen.length, 0)
  })

  t.test('names the model, address and failure of each server', async (t) => {
    const { code, stdout } = await runCommand(['check', folder, '--connect'])
    t.equal(code, 1)
    for (const line of [
      `judge at ${good.url}: responds (`,
      `error: judge at ${other.url}: it serves another, not m\n`,
      `error: judge at ${sick.url}: its health probe answers 500\n`,
      `error: judge at ${dead}: nothing listens there\n`,
      'error: judge at http://no-such-host.invalid:1: its host name cannot be resolved\n',
      `fine at ${good.url}/: responds (`,
      `sg at ${sick.url}: responds (`,
      '3 of 7 model servers respond\n',
    ])
      t.ok(stdout.includes(line), `${line}${stdout}`)
  })

  t.test('exits with 0 where every server responds', async (t) => {
    t.match(await runCommand(['check', `${folder}/fine`, '--connect']), {
      code: 0,
      stdout: /1 of 1 model servers respond\n$/,
    })
  })

  t.test('asks the servers of a file, and names a file that is missing', async (t) => {
    t.match(await runCommand(['check', `${folder}/listed`, '--connect']), {
      code: 1,
      stdout: /\na at http\S+: responds \(.*\nerror: b at \S*b\.txt: does not exist\n/,
    })
  })

  t.test('says so where no model names a server', async (t) => {
    t.match(await runCommand(['check', `${folder}/rules`, '--connect']), {
      code: 0,
      stdout: /no model names a server\n$/,
    })
  })
})

t.test('check --connect asks each judge that responds a question of each step', async (t) => {
  const says = (text: string) =>
    scriptedServer((seen, response) => json(response, completion(seen, text)), ['m'])
  const [good, chatty, sleepy] = await Promise.all([says('1'), says('I would say 6/10'), says('1')])
  const closed = await scriptedServer((_, response) => json(response, { error: 'no' }, 403), ['m'])
  t.teardown(() => Promise.all([good, chatty, sleepy, closed].map((server) => server.kill())))
  const judged = (model: string) => ({ steps: [{ name: 'quality', function: 'yes-no-judge', model }] })
  const models = {
    good: { model: 'm', instances: [`${good.url}/`] },
    sleepy: { model: 'm', instances: [sleepy.url], lifecycle: {} },
    bad: { model: 'm', instances: [chatty.url, closed.url, 'http://127.0.0.1:9'] },
  }
  const folder = t.testdir({
    'gateway.json': JSON.stringify({ models }),
    'one.json': JSON.stringify(judged('good')),
    'same.json': JSON.stringify(judged('good')),
    'two.json': JSON.stringify(judged('bad')),
    'three.json': JSON.stringify(judged('sleepy')),
  })
  const { code, stdout } = await runCommand(['check', folder, '--connect'])
  t.equal(code, 1)
  t.match(stdout, `\ngood at ${good.url}/: answers the question of one, step quality with 1 (`)
  t.equal(
    good.seen.filter(({ path }) => path.includes('completions')).length,
    1,
    'equal questions are asked once',
  )
  t.match(
    stdout,
    `\nerror: bad at ${chatty.url}: no verdict on the question of two, step quality: its answer holds no verdict\n`,
  )
  t.match(stdout, new RegExp(`\\nerror: bad at ${closed.url}: no verdict on .*: the server answered 403`))
  t.match(stdout, '\nsleepy: not asked, because a question would wake it\n')
  t.equal(sleepy.seen.length, 0)
  t.equal(stdout.split('no verdict').length - 1, 3, 'what does not respond is not asked')
})

t.test('check --connect fails where a step is not asked, and says what to add', async (t) => {
  const judge = await scriptedServer((seen, response) => json(response, completion(seen, '1')), ['m'])
  t.teardown(() => judge.kill())
  const folder = t.testdir({
    'gateway.json': JSON.stringify({
      functions: { folders: ['functions'] },
      models: { judge: { model: 'm', instances: [judge.url] } },
    }),
    functions: {
      'graded.ts': `import { defineModelReward, prompt } from 'reward-gateway/contract'
import { z } from 'zod'
export default defineModelReward({
  ask: 'generate',
  truth: z.string(),
  range: [0, 1],
  rm_preprocess: ({ sample, truth }) => prompt\`Is \${sample.response} right? The key: \${truth}\`,
  rm_postprocess: ({ text }) => Number(text),
})`,
    },
    'graded.json': JSON.stringify({ steps: [{ name: 'quality', function: 'graded', model: 'judge' }] }),
    'rows.jsonl': ['{"response": "no key"}', '{"response": "a", "ground_truth": "b"}']
      .map((row) => `${row}\n`)
      .join(''),
    'other.jsonl': '{"response": "no key"}\n',
  })
  const asked = () => judge.seen.filter(({ path }) => path.includes('completions')).length
  const check = (...rest: string[]) => runCommand(['check', folder, '--connect', ...rest])
  const none = await check()
  t.match(none, {
    code: 1,
    stdout:
      /\nerror: judge at \S+ not asked the question of graded, step quality \(.*\)\n1 of 1 questions were not asked, because .*; add --input ROWS with a row that they score\n$/,
  })
  t.match(await check('--input', `${folder}/other.jsonl`), {
    code: 1,
    stdout:
      /\n1 of 1 questions were not asked: none of the first 1 rows of --input has one for these steps\n$/,
  })
  t.equal(asked(), 0)
  t.match(await check('--input', `${folder}/rows.jsonl`), {
    code: 0,
    stdout: /\njudge at \S+ answers the question of graded, step quality with /,
  })
  t.equal(asked(), 1, 'about the first row that has a question')
})

t.test('check --connect asks sandbox servers how they run programs', { skip: withoutPrograms }, async (t) => {
  const key = 'a-key-of-the-fleet-0123456789'
  const own = await openSandboxServer({
    host: '127.0.0.1',
    port: 0,
    sandbox: localConfig.parse({ programs: 1 }),
    maxQueue: 1,
    maxBodyBytes: 1 << 20,
    keys: readKeys({ fleet: { env: 'KEY', scopes: ['score'] } } as never, { KEY: key }),
    clock: systemClock,
    log: () => {},
  })
  t.teardown(() => own.close(0))
  const programs: ScriptedRun[] = [
    { program: 'sys.version', stdout: '42 3.11.2\n' },
    { program: 'iostream', stdout: '42' },
    { program: 'console.log', ended: 'exit', code: 127 },
  ]
  const fusion = await simulated(t, { programs })
  const sick = await simulated(t, { programs, faults: [{ kind: 'sandbox-error' }] })
  const other = await scriptedServer((_, response) => json(response, {}))
  t.teardown(() => other.kill())
  const [port = 0] = await freePorts(1)
  const step = { name: 'tests', function: 'code-tests', sandbox: 'fleet' }
  const pool = (backend: string, ...instances: string[]) => ({ backend, instances })
  const folder = t.testdir({
    'gateway.json': JSON.stringify({
      sandboxes: {
        fleet: { ...pool('reward-gateway', own.url), api_key_env: 'RIGHT' },
        wrong: { ...pool('reward-gateway', own.url), api_key_env: 'WRONG' },
        more: { ...pool('reward-gateway', own.url), languages: ['python', 'cpp'] },
        none: pool('reward-gateway', own.url, `http://127.0.0.1:${port}`, other.url),
        fusion: pool('sandbox-fusion', fusion.url, sick.url, other.url),
      },
    }),
    'code.json': JSON.stringify({ steps: [step] }),
  })
  const env = { RIGHT: key, WRONG: 'another' }
  const { code, stdout } = await runCommand(['check', folder, '--connect'], { env })
  t.equal(code, 1)
  for (const line of [
    /\nsandbox fleet at http\S+: responds \(\d+ ms\): programs run .*Python 3\S+; 1 at once, 0 running and 0 waiting now; version \d/,
    /\nerror: sandbox wrong at http\S+: it refuses with 401: is the key in WRONG right\?\n/,
    /\nerror: sandbox none at http\S+: it refuses with 401: it needs a key; set api_key_env\n/,
    /\nerror: sandbox more at http\S+: it does not run cpp: start it with --languages python,cpp\n/,
    /\nerror: sandbox none at http\S+: nothing listens there\n/,
    /\nerror: sandbox none at http\S+: \/health does not tell how programs are confined: is this the address of `reward-gateway sandbox`\?\n/,
    /\nsandbox fusion at http\S+: responds \(\d+ ms\): programs run in Python 3\.11\.2, C\+\+; their confinement is that/,
    /\nerror: sandbox fusion at http\S+: it does not run Python: SandboxError\n/,
    /\nerror: sandbox fusion at http\S+: \/run_code answers no result: is this the address of SandboxFusion\?\n/,
    /\n2 of 9 sandbox servers respond\n$/,
  ])
    t.match(stdout, line)
  t.notMatch(stdout, key)
})

t.test(
  'score and audit warn on each run of programs that are not confined',
  { skip: withoutPrograms },
  async (t) => {
    const step = { name: 'tests', function: 'code-tests', sandbox: 'open' }
    const row = {
      prompt: 'Double the number.',
      response: '```python\nprint(int(input()) * 2)\n```',
      ground_truth: { inputs: ['2'], outputs: ['4'] },
    }
    const folder = t.testdir({
      'gateway.json': JSON.stringify({ sandboxes: { open: { isolation: 'unconfined' } } }),
      'code.json': JSON.stringify({ steps: [step] }),
      'rows.jsonl': `${JSON.stringify(row)}\n`,
    })
    const warning = /^warning: sandbox open: PROGRAMS ARE NOT CONFINED/m
    const input = ['--input', `${folder}/rows.jsonl`]
    const output = ['--output', `${folder}/scored.jsonl`]
    t.match(await runCommand(['score', '--config', folder, ...input, ...output]), {
      code: 0,
      stderr: warning,
    })
    const audited = await runCommand(['audit', folder, ...input, '--against', 'judge'])
    t.match(audited.stderr, warning)
  },
)

interface Line {
  readonly level: string
  readonly fields: object
  readonly message: string
}

/** The log of a gateway with these models, and what it passes on. */
function judgeLog(models: () => readonly object[], isOpen = true) {
  const lines: Line[] = []
  const writer = (level: string) => (fields: object, message: string) =>
    void lines.push({ level, fields, message })
  const written = { warn: writer('warn'), info: writer('info') } as unknown as Log
  let log = isOpen ? written : null
  const clock = fakeClock()
  const passed: unknown[] = []
  const { events, end } = openJudgeLog(
    {
      models: {
        ejected: ({ instance }) => passed.push(instance),
        parked: ({ isParked }) => passed.push(isParked),
      },
    },
    () => log,
    () => ({ models }) as unknown as ReturnType<Parameters<typeof openJudgeLog>[2]>,
    clock,
  )
  const open = () => {
    log = written
  }
  return { lines, passed, clock, open, events: events.models, end }
}

/** A judge on two servers that are lost and return. */
function twoServers(isOpen = true) {
  const instances = ['http://a', 'http://b'].map((address) => ({ address, state: 'ready' }))
  const log = judgeLog(() => [{ name: 'judge', instances }], isOpen)
  const out = (instance: string) => {
    log.events?.ejected?.({ model: 'judge', instance, reason: 'its health probe fails' })
    for (const one of instances) if (one.address === instance) one.state = 'ejected'
  }
  const back = (instance: string) => {
    for (const one of instances) if (one.address === instance) one.state = 'ready'
    log.events?.readmitted?.({ model: 'judge', instance })
  }
  return { ...log, out, back }
}

t.test('the log of lost servers (M41)', async (t) => {
  t.test('tells what was lost before the gateway listened, once it does', async (t) => {
    const { lines, passed, clock, open, out, back } = twoServers(false)
    back('http://a')
    out('http://a')
    t.strictSame(passed, ['http://a'], 'metrics hear of it')
    t.equal(lines.length, 0, 'before it listens there is no log')
    open()
    clock.advance(1000)
    t.match(lines, [{ level: 'warn', fields: { instance: 'http://a', model: 'judge', reason: /health/ } }])
  })

  t.test('says whether a lost server was the last of its model', async (t) => {
    const { lines, out } = twoServers()
    out('http://a')
    t.match(lines, [{ fields: { instance: 'http://a' }, message: /others of its model/ }])
    out('http://b')
    t.match(lines[1], { level: 'warn', fields: { instance: 'http://b' }, message: /has no other/ })
  })

  t.test('has one line for a server that comes and goes, and one when it stays', async (t) => {
    const { lines, clock, out, back } = twoServers()
    for (let i = 0; i < 1000; i++) {
      out('http://b')
      back('http://b')
    }
    t.match(lines, [{ level: 'warn', fields: { instance: 'http://b' } }])
    t.equal(lines.length, 1)
    clock.advance(30_000)
    t.match(lines.slice(1), [{ level: 'info', fields: { instance: 'http://b' } }])
    clock.advance(600_000)
    t.equal(lines.length, 2)
    out('http://b')
    t.equal(lines.length, 3, 'a loss after that is news')
  })

  t.test('leaves no timer when the gateway ends', async (t) => {
    const { clock, out, back, end } = twoServers()
    out('http://b')
    back('http://b')
    t.not(clock.pending, 0)
    end()
    t.equal(clock.pending, 0)
  })
})

t.test('repeated failures to put a server to sleep are logged once, with the reason', (t) => {
  const lines: unknown[] = []
  const log = {
    info: () => {},
    warn: (facts: unknown, text: string) => lines.push([text, facts]),
  } as unknown as Log
  const { events, end } = openJudgeLog(
    {},
    () => log,
    () => null,
    fakeClock(),
  )
  const failure = { model: 'm', instance: 'http://a', order: 'sleep', reason: 'no flag' } as const
  events.models?.orderFailed?.(failure)
  events.models?.orderFailed?.(failure)
  events.models?.orderFailed?.({ ...failure, reason: 'another' })
  events.models?.switched?.({ model: 'm', state: 'awake' })
  events.models?.orderFailed?.({ ...failure, reason: 'another' })
  end()
  const text = 'a model server did not carry out an order'
  t.strictSame(lines, [
    [text, failure],
    [text, { ...failure, reason: 'another' }],
    [text, { ...failure, reason: 'another' }],
  ])
  t.end()
})

/** A judge of which so many questions are parked. */
function parking() {
  let questions = 0
  const log = judgeLog(() => [
    { name: 'judge', parked: questions > 0 ? { questions, since: Date.UTC(2026, 0) } : null },
  ])
  const parked = (isParked: boolean) => log.events?.parked?.({ model: 'judge', isParked })
  const wait = (count: number) => {
    questions = count
  }
  return { ...log, parked, wait }
}

t.test('the log of parked questions (M54)', async (t) => {
  t.test('says nothing of a judge that is back within a second', async (t) => {
    const { lines, passed, clock, parked } = parking()
    parked(true)
    parked(false)
    clock.advance(60_000)
    t.equal(lines.length, 0)
    t.strictSame(passed, [true, false], 'metrics hear of it')
  })

  t.test('says how many wait and since when', async (t) => {
    const { lines, clock, parked, wait } = parking()
    wait(7)
    parked(true)
    clock.advance(1000)
    t.match(lines, [
      { level: 'warn', fields: { model: 'judge', parked: 7, parked_since: '2026-01-01T00:00:00.000Z' } },
    ])
  })

  t.test('has no line each time that a judge comes and goes', async (t) => {
    const { lines, clock, parked, wait } = parking()
    wait(7)
    parked(true)
    clock.advance(1000)
    for (let i = 0; i < 1000; i++) {
      parked(false)
      parked(true)
    }
    t.equal(lines.length, 2)
    t.match(lines[1], { level: 'info', message: /continue/ })
    clock.advance(30_000)
    t.equal(lines.length, 3, 'half a minute later it is told of again')
  })

  t.test('repeats each five minutes while questions wait, and then no more', async (t) => {
    const { lines, clock, parked, wait } = parking()
    wait(7)
    parked(true)
    clock.advance(1000)
    t.equal(lines.length, 1)
    clock.advance(600_000)
    t.equal(lines.length, 3)
    wait(0)
    parked(true)
    clock.advance(600_000)
    t.equal(lines.length, 3, 'nobody waits any more')
  })

  t.test('leaves no timer when the gateway ends', async (t) => {
    const { clock, parked, wait, end } = parking()
    wait(7)
    parked(true)
    t.not(clock.pending, 0)
    end()
    t.equal(clock.pending, 0)
  })
})

t.test('check --connect asks the second judge of a decision, too', async (t) => {
  const lacking = () => scriptedServer((_, response) => json(response, {}, 501), ['m'])
  const [first, second] = await Promise.all([lacking(), lacking()])
  t.teardown(() => Promise.all([first, second].map((server) => server.kill())))
  const of = ({ url }: { readonly url: string }) => ({
    model: 'm',
    instances: [url],
    decide: { wire: 'vllm' },
  })
  const escalate = { below: 0.8, model: 'second' }
  const folder = t.testdir({
    'one.json': JSON.stringify({
      models: { first: of(first), second: of(second) },
      steps: [{ name: 'right', function: 'decision-judge', model: 'first', escalate }],
    }),
  })
  const { code, stdout } = await runCommand(['check', `${folder}/one.json`, '--connect'])
  t.equal(code, 1)
  for (const [name, { url }] of Object.entries({ first, second }))
    t.match(stdout, new RegExp(`\\nerror: ${name} at ${url}: no verdict on .*: the server answered 501`))
})

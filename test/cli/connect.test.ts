import t from 'tap'
import type { Log } from '../../src/cli/serve/server-log.ts'
import { openJudgeLog } from '../../src/cli/serve/server-log.ts'
import { fakeClock } from '../support/clock.ts'
import { runCommand } from '../support/command-line.ts'
import { freePorts } from '../support/free-ports.ts'
import { completion, json, scriptedServer } from '../support/scripted-server.ts'

t.test('check --connect tests each server and names its model, address and failure (M41)', async (t) => {
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
    'one.yaml': 'steps: [{ name: r, function: gsm8k }]\n',
    fine: {
      'gateway.json': JSON.stringify({ models: { fine: { model: 'm', instances: [good.url] } } }),
      'one.yaml': 'steps: [{ name: r, function: gsm8k }]\n',
    },
    listed: {
      'gateway.json': JSON.stringify({
        models: {
          a: { model: 'm', allow: ['http://127.0.0.1:*'], instances_file: 'a.txt' },
          b: { model: 'm', allow: ['http://127.0.0.1:*'], instances_file: 'b.txt' },
        },
      }),
      'one.yaml': 'steps: [{ name: r, function: gsm8k }]\n',
      'a.txt': `${good.url}\n`,
    },
    rules: { 'one.yaml': 'steps: [{ name: r, function: gsm8k }]\n' },
  })
  t.equal((await runCommand(['check', folder])).code, 0, 'nothing is asked unless it is wanted')
  t.equal(good.seen.length, 0)
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
  t.match(await runCommand(['check', `${folder}/fine`, '--connect']), {
    code: 0,
    stdout: /1 of 1 model servers respond\n$/,
  })
  const listed = await runCommand(['check', `${folder}/listed`, '--connect'])
  t.match(listed, {
    code: 1,
    stdout: /\na at http\S+: responds \(.*\nerror: b at \S*b\.txt: does not exist\n/,
  })
  t.match(await runCommand(['check', `${folder}/rules`, '--connect']), {
    code: 0,
    stdout: /no model names a server\n$/,
  })
})

t.test(
  'the log says once when a server or the last one of a model is lost, and when it returns (M41)',
  async (t) => {
    const lines: { readonly level: string; readonly fields: object; readonly message: string }[] = []
    const writer = (level: string) => (fields: object, message: string) =>
      void lines.push({ level, fields, message })
    let log: Log | null = null
    const clock = fakeClock()
    const instances = ['http://a', 'http://b'].map((address) => ({ address, state: 'ready' }))
    const gateway = { models: () => [{ name: 'judge', instances }] }
    const passed: string[] = []
    const { events, end } = openJudgeLog(
      { models: { ejected: ({ instance }) => passed.push(instance) } },
      () => log,
      () => gateway as unknown as ReturnType<Parameters<typeof openJudgeLog>[2]>,
      clock,
    )
    const out = (instance: string) => {
      events.models?.ejected?.({ model: 'judge', instance, reason: 'its health probe fails' })
      for (const one of instances) if (one.address === instance) one.state = 'ejected'
    }
    const back = (instance: string) => {
      for (const one of instances) if (one.address === instance) one.state = 'ready'
      events.models?.readmitted?.({ model: 'judge', instance })
    }
    back('http://a')
    out('http://a')
    t.strictSame(passed, ['http://a'], 'metrics hear of it')
    t.equal(lines.length, 0, 'before it listens there is no log')
    log = { warn: writer('warn'), info: writer('info') } as unknown as Log
    clock.advance(1000)
    t.match(lines, [{ level: 'warn', fields: { instance: 'http://a', model: 'judge', reason: /health/ } }])
    t.match(lines[0], { message: /others of its model/ })
    out('http://b')
    t.match(lines[1], { level: 'warn', fields: { instance: 'http://b' }, message: /has no other/ })
    for (let i = 0; i < 1000; i++) {
      back('http://b')
      out('http://b')
    }
    back('http://b')
    t.equal(lines.length, 2, 'a server that comes and goes has no line for each')
    clock.advance(30_000)
    t.match(lines.slice(2), [{ level: 'info', fields: { instance: 'http://b' } }])
    clock.advance(600_000)
    t.equal(lines.length, 3)
    out('http://b')
    t.equal(lines.length, 4)
    back('http://b')
    end()
    t.equal(clock.pending, 0, 'a server that closes waits for no line')
  },
)

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

t.test('the log repeats at intervals which questions are parked, how many and since when (M54)', (t) => {
  const lines: { readonly level: string; readonly fields: object; readonly message: string }[] = []
  const writer = (level: string) => (fields: object, message: string) =>
    void lines.push({ level, fields, message })
  const log = { warn: writer('warn'), info: writer('info') } as unknown as Log
  const clock = fakeClock()
  let questions = 0
  const gateway = {
    models: () => [{ name: 'judge', parked: questions > 0 ? { questions, since: Date.UTC(2026, 0) } : null }],
  }
  const passed: boolean[] = []
  const { events, end } = openJudgeLog(
    { models: { parked: ({ isParked }) => passed.push(isParked) } },
    () => log,
    () => gateway as unknown as ReturnType<Parameters<typeof openJudgeLog>[2]>,
    clock,
  )
  const parked = (isParked: boolean) => events.models?.parked?.({ model: 'judge', isParked })
  parked(true)
  parked(false)
  clock.advance(60_000)
  t.equal(lines.length, 0, 'a judge that is back within a second is no news')
  t.strictSame(passed, [true, false], 'metrics hear of it')
  questions = 7
  parked(true)
  clock.advance(1000)
  t.match(lines, [
    { level: 'warn', fields: { model: 'judge', parked: 7, parked_since: '2026-01-01T00:00:00.000Z' } },
  ])
  for (let i = 0; i < 1000; i++) {
    parked(false)
    parked(true)
  }
  t.equal(lines.length, 2, 'one that comes and goes has no line for each')
  t.match(lines[1], { level: 'info', message: /continue/ })
  clock.advance(30_000)
  t.equal(lines.length, 3, 'half a minute later it is told of again')
  clock.advance(600_000)
  t.equal(lines.length, 5, 'and each five minutes')
  questions = 0
  parked(true)
  clock.advance(40_000)
  t.equal(lines.length, 5, 'nobody waits any more')
  end()
  t.equal(clock.pending, 0)
  t.end()
})

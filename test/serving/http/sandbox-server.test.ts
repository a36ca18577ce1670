import { once } from 'node:events'
import { connect } from 'node:net'
import t, { type Test } from 'tap'
import { systemClock } from '../../../src/core/clock.ts'
import { readKeys } from '../../../src/scoring/gateway/keys.ts'
import { localConfig } from '../../../src/scoring/sandboxes/sandbox-config.ts'
import {
  openSandboxServer,
  type SandboxServer,
  type SandboxServerOptions,
} from '../../../src/serving/sandbox-server.ts'
import { inspectedApp } from '../../support/inspected.ts'
import { withoutSandbox, zygotes } from '../../support/sandbox.ts'

const skip = await withoutSandbox()
const key = 'a-key-of-the-fleet-0123456789'
const keys = readKeys({ fleet: { env: 'KEY', scopes: ['score'] } } as never, { KEY: key })

async function open(t: Test, more: Partial<SandboxServerOptions> = {}): Promise<SandboxServer> {
  const server = await openSandboxServer({
    host: '127.0.0.1',
    port: 0,
    sandbox: localConfig.parse({ programs: 1 }),
    maxQueue: 16,
    maxBodyBytes: 1 << 20,
    keys: null,
    clock: systemClock,
    log: () => {},
    ...more,
  })
  t.teardown(() => server.close(0))
  return server
}

const post = (url: string, body: unknown, headers: Record<string, string> = {}) =>
  fetch(`${url}/v1/execute`, {
    method: 'POST',
    headers,
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })

const double = {
  language: 'python',
  program: 'print(int(input()) * 2)',
  cases: ['1', '2', 'x', '4'].map((stdin) => ({ stdin, expected: { stdout: `${2 * Number(stdin)}` } })),
}
const endless = {
  language: 'python',
  program: 'while True: pass',
  cases: [{ stdin: '' }],
  limits: { cpu_s: 60, wall_s: 60 },
}
const until = async (isTrue: () => boolean | Promise<boolean>) => {
  while (!(await isTrue())) await new Promise(setImmediate)
}
const health = async ({ url }: SandboxServer) =>
  (await (await fetch(`${url}/health`)).json()) as { running: number; waiting: number }

t.test('a server of programs', { skip }, async (t) => {
  const lines: object[] = []
  const server = await open(t, { keys, maxQueue: 1, log: (line) => void lines.push(line) })
  const { url } = server
  const mine = { authorization: `Bearer ${key}` }

  await t.test('runs all cases of a request, or stops at the first that fails', async (t) => {
    const all = await (await post(url, double, mine)).json()
    t.match(all, {
      compiled: true,
      out_of_time: false,
      cases: [
        { ended: 'ok', passed: true, error: '' },
        { passed: true },
        { ended: 'exception', passed: false, error: /ValueError/ },
        { passed: true },
      ],
    })
    const some = (await (await post(url, { ...double, stop: 'first_failure' }, mine)).json()) as typeof all
    t.match(some, { cases: [{ passed: true }, { passed: true }, { passed: false }], out_of_time: false })
    const first = { ...double, stop: 'first_passes', report: 'outputs' }
    t.match(await (await post(url, first, mine)).json(), {
      cases: [{ passed: true, stdout: '2\n' }],
      out_of_time: false,
    })
    t.match(await (await post(url, { ...double, program: 'print(' }, mine)).json(), {
      compiled: false,
      cases: [],
    })
    const late = { cpu_s: 1, wall_s: 1, total_s: 0.001 }
    t.match(await (await post(url, { ...double, limits: late }, mine)).json(), {
      compiled: true,
      out_of_time: true,
    })
  })

  await t.test('tells pieces of what cases wrote to who asks for them', async (t) => {
    const asked = (path: string) =>
      fetch(`${url}/v1/execute${path}`, { method: 'POST', headers: mine, body: JSON.stringify(double) })
    t.match(await (await asked('?excerpts=true')).json(), {
      cases: [{ passed: true }, { passed: true }, { passed: false }, { passed: true }],
      excerpts: [
        { stdout: { text: '2\n', chars: 2 }, stderr: { text: '' }, value: null, wallSeconds: Number },
        {},
        { stderr: { text: /ValueError/ } },
        {},
      ],
    })
    t.notOk('excerpts' in ((await (await asked('')).json()) as object))
  })

  await t.test('runs nothing without its key, and says what is wrong with a body', async (t) => {
    for (const headers of [{}, { authorization: 'Bearer wrong' }, { authorization: key }])
      t.equal((await post(url, double, headers)).status, 401)
    t.equal((await fetch(`${url}/metrics`)).status, 401)
    t.equal((await fetch(`${url}/health`)).status, 200)
    const table: readonly (readonly [unknown, RegExp])[] = [
      ['{', /not JSON/],
      ['null', /no object/],
      [{ ...double, language: 'cobol' }, /no program and cases at language/],
      [{ ...double, cases: [] }, /at cases/],
      [{ ...double, limits: { wall_s: 0 } }, /at limits/],
      [{ ...double, limits: { wallSecs: 1 } }, /limits/],
      [{ ...double, cases: [{ call: 'f', args: '1' }] }, /JSON list/],
      [{ ...double, cases: Array(10_001).fill({ stdin: '' }) }, /more than 10000 cases/],
      [`{"cases": [${'0,'.repeat(400_000)}0]}`, /more than 10000 cases/],
      ['['.repeat(1_000_000), /more than 100 values/],
    ]
    for (const [body, message] of table) {
      const reply = await post(url, body, mine)
      t.equal(reply.status, 400)
      t.match(await reply.json(), { error: { code: 'bad_request', message } })
    }
    t.equal((await post(url, { ...double, program: 'x'.repeat(2 << 20) }, mine)).status, 413)
    t.equal(
      (await post(url, 'x'.repeat(1 << 20))).status,
      401,
      'a long body without a key is read to its end',
    )
    const logged = lines.length
    const leaving = connect(Number(new URL(url).port), '127.0.0.1')
    leaving.end(
      `POST /v1/execute HTTP/1.1\r\nhost: x\r\nauthorization: ${mine.authorization}\r\ncontent-length: 9\r\n\r\n{`,
    )
    leaving.resume()
    await once(leaving, 'close')
    t.equal((await post(url, double, mine)).status, 200)
    t.equal(lines.length, logged, 'a client that leaves is no fault')
    t.equal((await fetch(`${url}/v1/execute`, { headers: mine })).status, 405)
    t.equal((await fetch(`${url}/other`, { headers: mine })).status, 404)
  })

  await t.test('refuses a language that it does not run', async (t) => {
    const reply = await post(url, { ...double, language: 'cpp' }, mine)
    t.match(
      [reply.status, await reply.json()],
      [400, { error: { code: 'no_language', message: /runs python; start it with --languages/ } }],
    )
  })

  await t.test('refuses what does not fit with Retry-After, and ends what nobody waits for', async (t) => {
    const clients = [new AbortController(), new AbortController()]
    const gone = clients.map(({ signal }) =>
      fetch(`${url}/v1/execute`, {
        method: 'POST',
        headers: mine,
        body: JSON.stringify(endless),
        signal,
      }).catch(() => {}),
    )
    await until(async () => (await health(server)).waiting === 1)
    const refused = await post(url, double, mine)
    t.equal(refused.status, 429)
    t.ok(Number(refused.headers.get('retry-after')) >= 1)
    const text = await (await fetch(`${url}/metrics`, { headers: mine })).text()
    t.match(text, /reward_gateway_sandbox_in_flight\{sandbox="local",instance="local"\} 1\n/)
    t.match(text, /reward_gateway_sandbox_waiting\{sandbox="local"\} 1\n/)
    for (const client of clients) client.abort()
    await Promise.all(gone)
    await until(async () => {
      const { running, waiting } = await health(server)
      return running === 0 && waiting === 0
    })
    t.equal((await post(url, double, mine)).status, 200)
  })
})

t.test('a server without a key runs no program of a web page', { skip }, async (t) => {
  const { url } = await open(t)
  t.equal((await post(url, double)).status, 200)
  const page = { origin: 'http://evil.example', 'content-type': 'text/plain' }
  t.match(await (await post(url, double, page)).json(), { error: { code: 'forbidden' } })
})

t.test('a program that floods every case does not fill the reply', { skip }, async (t) => {
  const { url } = await open(t)
  const flood = { ...double, program: 'print("x" * 1_000_000)', report: 'outputs' }
  const cases = Array.from({ length: 20 }, () => ({ stdin: '' }))
  const reply = await (await post(url, { ...flood, cases })).text()
  t.ok(reply.length < 17 * 1024 * 1024)
  const ends = (JSON.parse(reply) as { cases: { ended: string }[] }).cases.map(({ ended }) => ended)
  t.same(ends, [...Array(16).fill('ok'), ...Array(4).fill('output')])
})

t.test('a server that closes finishes what runs and takes nothing new', { skip }, async (t) => {
  const before = zygotes()
  const server = await open(t)
  const slow = {
    language: 'python',
    program: 'import time\ntime.sleep(0.5)\nprint(1)',
    cases: [{ stdin: '', expected: { stdout: '1' } }],
  }
  const running = post(server.url, slow)
  await until(async () => (await health(server)).running === 1)
  const closed = server.close(10_000)
  const refused = await post(server.url, slow)
  t.equal(refused.status, 503)
  t.equal(refused.headers.get('retry-after'), '1')
  t.equal((await fetch(`${server.url}/health`)).status, 503)
  t.match(await (await running).json(), { cases: [{ passed: true }] })
  await closed
  await until(() => zygotes().every((pid) => before.includes(pid)))
})

t.test('a gateway runs programs on the servers of a fleet', { skip }, async (t) => {
  const servers = [await open(t, { keys }), await open(t, { keys })]
  const { app } = await inspectedApp(
    t,
    {
      gateway: {
        sandboxes: {
          fleet: {
            backend: 'reward-gateway',
            instances: servers.map(({ url }) => url),
            api_key_env: 'FLEET_KEY',
          },
        },
      },
      code: { steps: [{ name: 'tests', function: 'code-tests', sandbox: 'fleet' }] },
    },
    { env: { FLEET_KEY: key }, text: () => 'full' },
  )
  const sample = (program: string) => ({
    prompt: 'p',
    response: `\`\`\`python\n${program}\n\`\`\``,
    ground_truth: { inputs: ['2', '3'], outputs: ['4', '6'] },
  })
  const score = async (programs: readonly string[]) => {
    const payload = { reward: 'code', samples: programs.map(sample) }
    const reply = await app.inject({ method: 'POST', url: '/v1/score', payload })
    return (reply.json() as { results: { reward: number | null; failure: object | null }[] }).results
  }
  const right = Array.from({ length: 12 }, (_, at) => (at % 3 === 0 ? 'print(4)' : double.program))
  const wanted = right.map((_, at) => Number(at % 3 !== 0))
  t.same(
    (await score(right)).map(({ reward }) => reward),
    wanted,
  )
  const [first, second] = servers
  await first?.close(0)
  t.same(
    (await score(right)).map(({ reward }) => reward),
    wanted,
    'the other server runs what the closed one cannot',
  )
  const text = (await app.inject('/metrics')).body
  // While a page is open, the servers are asked for what the cases wrote, too.
  const page = await app.inject({ url: '/ui/api/events', payloadAsStream: true })
  t.teardown(() => page.stream().destroy())
  const payload = { reward: 'code', samples: [sample('print(4)')] }
  await app.inject({ method: 'POST', url: '/v1/score', headers: { 'x-request-id': 'seen' }, payload })
  t.match((await app.inject('/ui/api/rows/seen:0')).json().terms[0].tests, {
    asked: 2,
    tests: [
      { passed: true, stdout: '4\n' },
      { passed: false, expected: '6', stdout: '4\n' },
    ],
  })
  t.match(text, new RegExp(`sandbox_in_flight\\{sandbox="fleet",instance="${second?.url}"\\} 0\n`))
  t.match(text, /sandbox_duration_seconds_count\{sandbox="fleet",outcome="ok"\} 24\n/)
})

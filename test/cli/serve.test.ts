import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import { openServer } from '../../src/cli/serve/server.ts'
import { slowSamples, withLog } from '../../src/cli/serve/server-log.ts'
import { systemClock } from '../../src/core/clock.ts'
import { GatewayError } from '../../src/core/errors.ts'
import { runCommand } from '../support/command-line.ts'
import { fixtureFunctions } from '../support/gateway.ts'
import { completion, json, scriptedServer } from '../support/scripted-server.ts'

t.test('serve answers until a signal stops it, and reloads on a file change and on SIGHUP', async (t) => {
  const rule = 'steps: [{ name: rule, function: gsm8k-progressive }]'
  const folder = t.testdir({ 'one.yaml': rule })
  const ending = new AbortController()
  let hangUp = () => {}
  const args = ['serve', '--config', folder, '--port', '0', '--log-level', 'silent', '--watch']
  const served = runCommand(args, {
    signal: ending.signal,
    onHangup(listener) {
      hangUp = listener
      return () => {
        hangUp = () => t.fail('nobody listens any more')
      }
    },
    onStdout: async (text) => {
      const url = /at (http:\S+)/.exec(text)?.[1]
      const metric = async (result: string) =>
        new RegExp(`reloads_total.result="${result}". (\\d+)`).exec(
          await (await fetch(`${url}/metrics`)).text(),
        )?.[1]
      const until = async (result: string, count: string) => {
        while ((await metric(result)) !== count) await new Promise((resolve) => setTimeout(resolve, 50))
      }
      const names = async () =>
        ((await (await fetch(`${url}/v1/rewards`)).json()) as { rewards: { name: string }[] }).rewards.map(
          ({ name }) => name,
        )
      const response = await fetch(`${url}/v1/score`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ reward: 'one', samples: [{ response: 'so\n#### 4', ground_truth: '4' }] }),
      })
      t.match(await response.json(), { results: [{ reward: 1 }] })
      writeFileSync(join(folder, 'two.yaml'), rule)
      await until('served', '1')
      t.strictSame(await names(), ['one', 'two'], 'a file that came is served')
      writeFileSync(join(folder, 'two.yaml'), 'steps: 1')
      hangUp()
      await until('refused', '1')
      t.strictSame(await names(), ['one', 'two'], 'a mistake changes nothing')
      ending.abort()
    },
  })
  t.match(await served, { code: 0, stdout: /serves one at/ })
})

t.test('a server that has closed keeps nothing in memory', async (t) => {
  const folder = t.testdir({ 'one.yaml': 'steps: [{ name: rule, function: gsm8k-progressive }]' })
  /** All parts of a server hold its clock. */
  const servedOnce = async (): Promise<WeakRef<object>> => {
    const clock = { ...systemClock }
    const options = { configs: [folder], functionFolders: [], env: {}, port: 0, logLevel: 'silent' }
    const server = await openServer({ ...options, clock })
    const { status } = await fetch(`${server.url}/v1/rewards`)
    t.equal(status, 200)
    await server.close()
    return new WeakRef(clock)
  }
  const clock = await servedOnce()
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc')
  for (let turn = 0; turn < 200 && clock.deref(); turn++) {
    await new Promise(setImmediate)
    collect()
  }
  t.equal(clock.deref(), undefined)
})

t.test('serve --simulate refuses a server that it does not replace, and asks it nothing', async (t) => {
  let questions = 0
  const real = await scriptedServer((seen) => {
    questions += 1
    return completion(seen, '1')
  })
  t.teardown(() => real.kill())
  const serving = async (instance: string) => {
    const folder = t.testdir({
      'gateway.yaml': `models: { mine: { model: judge-a, instances: ['${instance}'] } }`,
      'one.yaml': 'steps: [{ name: judge, function: yes-no-judge, model: mine }]',
    })
    const ending = new AbortController()
    const served = await runCommand(
      ['serve', '--config', folder, '--port', '0', '--log-level', 'silent', '--simulate'],
      { signal: ending.signal, onStdout: () => ending.abort() },
    )
    return served
  }
  const refused = await serving(real.url)
  t.equal(refused.code, 2)
  t.match(refused.stderr, `--simulate does not replace mine at ${real.url}`)
  t.match(refused.stderr, /JUDGE_A_0/)
  t.equal(questions, 0)
  // biome-ignore lint/suspicious/noTemplateCurlyInString: a variable of the config
  t.match(await serving('${JUDGE_A_0}'), { code: 0, stdout: /serves one at/ })
})

t.test('serve names a missing key and does not listen', async (t) => {
  const folder = t.testdir({
    'gateway.yaml': 'keys: { ops: { env: REWARD_GATEWAY_TEST_KEY, scopes: [admin] } }',
    'one.yaml': 'steps: [{ name: rule, function: gsm8k-progressive }]',
  })
  const { code, stderr } = await runCommand(['serve', '--config', folder, '--port', '0'])
  t.equal(code, 2)
  t.match(stderr, /keys\.ops.*REWARD_GATEWAY_TEST_KEY is not set/)
})

t.test(
  'a request that outlives shutdown.grace_s is refused, and never answered without its reward',
  async (t) => {
    const judge = await scriptedServer(() => {})
    t.teardown(() => judge.kill())
    const folder = t.testdir({
      'gateway.yaml': 'shutdown: { grace_s: 0 }',
      'judged.json': JSON.stringify({
        models: { judge: { model: 'm', instances: [judge.url], health: { interval_s: 0 } } },
        steps: [{ name: 'q', function: 'digit-judge', model: 'judge' }],
        on_invalid: -1,
      }),
    })
    const args = ['serve', '--config', folder, '--reward-functions', fixtureFunctions, '--port', '0']
    const child = spawn(process.execPath, ['dist/src/cli/main.js', ...args], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    t.teardown(() => child.kill('SIGKILL'))
    const exited = once(child, 'exit')
    let written = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      written += text
    })
    const place = /at (http:\S+) /
    while (!place.test(written)) await once(child.stdout, 'data')
    const url = place.exec(written)?.[1]
    const asked = (path: string, body: object, accept = 'application/json') =>
      fetch(`${url}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', accept },
        body: JSON.stringify(body),
      })
    const samples = [{ response: 'a' }]
    const whole = asked('/v1/score', { reward: 'judged', samples })
    const wire = asked('/wire/slime/judged', { prompt: 'b', response: 'b', label: 'b' })
    const streamed = { reward: 'judged', samples: [{ response: 'c' }] }
    const stream = asked('/v1/score', streamed, 'application/x-ndjson')
    await judge.saw(3)
    child.kill('SIGTERM')
    for (const reply of await Promise.all([whole, wire, stream])) {
      t.equal(reply.status, 503)
      t.equal(reply.headers.get('retry-after'), '1')
      t.match(await reply.json(), { error: { code: 'RG_CLOSING', message: /send this again/ } })
    }
    t.strictSame(await exited, [0, null])
  },
)

t.test('a process reloads on SIGHUP, and finishes its requests on SIGTERM before it exits', async (t) => {
  const held: (() => void)[] = []
  const judge = await scriptedServer((seen, response) => {
    held.push(() => json(response, completion(seen, '1')))
  })
  t.teardown(() => judge.kill())
  const reward = (weight: number) =>
    JSON.stringify({
      models: { judge: { model: 'm', instances: [judge.url], health: { interval_s: 0 } } },
      steps: [{ name: 'q', function: 'digit-judge', model: 'judge', weight }],
    })
  const folder = t.testdir({ 'judged.json': reward(1) })
  const args = ['serve', '--config', folder, '--reward-functions', fixtureFunctions, '--port', '0']
  const child = spawn(process.execPath, ['dist/src/cli/main.js', ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  const exited = once(child, 'exit')
  let written = ''
  const wrote = async (pattern: RegExp) => {
    while (!pattern.test(written)) await once(child.stdout, 'data')
    return pattern.exec(written)?.[1] ?? ''
  }
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    written += text
  })
  const url = await wrote(/at (http:\S+) /)
  const score = (response: string) =>
    fetch(`${url}/v1/score`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ reward: 'judged', samples: [{ response }] }),
    })

  const before = score('a')
  await judge.saw(1)
  writeFileSync(join(folder, 'judged.json'), reward(3))
  child.kill('SIGHUP')
  await wrote(/(reloaded)/)
  writeFileSync(join(folder, 'judged.json'), '{"steps": 1}')
  child.kill('SIGHUP')
  t.match(await wrote(/(\{.*a reload failed.*\})/), /judged\.json/, 'the log names the mistake')
  const after = score('b')
  await judge.saw(2)
  child.kill('SIGTERM')
  await t.rejects(async () => {
    for (;;) await fetch(`${url}/livez`, { headers: { connection: 'close' } })
  }, 'it takes no more connections')
  for (const reply of held.splice(0)) reply()
  t.match(await (await before).json(), { results: [{ reward: 1 }] }, 'with the config that it began with')
  t.match(await (await after).json(), { results: [{ reward: 3 }] }, 'with the last config without mistakes')
  t.strictSame(await exited, [0, null])
})

interface Line {
  readonly level: string
  readonly told: unknown
  readonly text: string
}

/** A log that stores its lines. */
function keptLog() {
  const lines: Line[] = []
  const at = (level: string) => (told: unknown, text: string) => void lines.push({ level, told, text })
  return { lines, log: { info: at('info'), warn: at('warn'), error: at('error') } as never }
}

t.test('the five slowest samples of a request are logged without texts, slowest first', async (t) => {
  const { lines, log } = keptLog()
  const engine = slowSamples(1, () => log)
  const valid = { id: 'SECRET', valid: true, reward: 1, terms: [], flags: [] }
  const failure = { kind: 'judge_timeout', retryable: true, step: 'judge', detail: 'SECRET' }
  const failed = { id: 'SECRET', valid: false, failure, substitute: null, terms: [], flags: [] }
  const ms = [900, 1200, 5000, 1000, 2000, 3000, 4000, 1500]
  const done = {
    plan: { name: 'demo' },
    requestId: 'req',
    run: 'a',
    trainingStep: null,
    rows: ms.map(() => ({ id: 'SECRET', prompt: 'SECRET', response: 'SECRET' })),
    outcomes: ms.map((took) => (took === 5000 ? failed : valid)),
    ms: Float64Array.from(ms),
  } as never
  engine?.done?.(done)
  t.strictSame(
    lines.map(({ level, told }) => [level, (told as { row: number }).row]),
    [2, 6, 5, 4, 7].map((row) => ['warn', row]),
  )
  t.strictSame(lines[0]?.told, {
    reqId: 'req',
    reward: 'demo',
    run: 'a',
    row: 2,
    ms: 5000,
    slow: 6,
    failure: 'judge_timeout',
    step: 'judge',
  })
  t.notMatch(JSON.stringify(lines), /SECRET/)
})

t.test('a failed reload logs every mistake with its place, and is counted', async (t) => {
  const { lines, log } = keptLog()
  const counted: unknown[] = []
  const { reloads } = withLog({ reloads: { ended: (refusal) => void counted.push(refusal) } }, () => log)
  const problems = [{ path: 'one.yaml:1:1', message: 'no steps' }]
  const refusal = new GatewayError('RG_CONFIG_INVALID', 'a config cannot be read', { problems })
  reloads?.ended?.(refusal)
  reloads?.ended?.(null)
  t.match(lines, [
    { level: 'error', told: { code: 'RG_CONFIG_INVALID', problems }, text: /the old configs stay in use/ },
    { level: 'info', told: /reloaded/ },
  ])
  t.strictSame(counted, [refusal, null])
})

t.test('at a terminal, serve says in plain text where it listens', async (t) => {
  const folder = t.testdir({ 'one.yaml': 'steps: [{ name: rule, function: gsm8k-progressive }]' })
  const ending = new AbortController()
  const { stdout } = await runCommand(['serve', '--config', folder, '--port', '0', '--log-level', 'silent'], {
    signal: ending.signal,
    terminal: true,
    onStdout: () => ending.abort(),
  })
  t.match(stdout, /^reward-gateway serves one at (http:\S+) \(page: \1\/ui\/, docs: \1\/docs\)\n$/)
})

const somaxconn = '/proc/sys/net/core/somaxconn'
const mostWaiting = existsSync(somaxconn) ? Number(readFileSync(somaxconn, 'utf8')) : 0
const skip = mostWaiting < 2000 && 'this system lets no 2,000 connections wait'

t.test('a process that serves', async (t) => {
  const folder = t.testdir({ 'one.yaml': 'steps: [{ name: rule, function: gsm8k-progressive }]', loaded: {} })
  const loaded = join(folder, 'loaded')
  const child = spawn(
    process.execPath,
    ['dist/src/cli/main.js', 'serve', '--config', join(folder, 'one.yaml'), '--port', '0'],
    { stdio: ['ignore', 'pipe', 'inherit'], env: { ...process.env, NODE_V8_COVERAGE: loaded } },
  )
  t.teardown(() => child.kill('SIGKILL'))
  const exited = once(child, 'exit')
  let written = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    written += text
  })
  const address = /at http:\/\/(\S+):(\d+) /
  while (!address.test(written)) await once(child.stdout, 'data')
  const [, host = '', port] = address.exec(written) ?? []

  t.test('writes only JSON to standard output, with names of levels and readable times', async (t) => {
    for (const line of written.trim().split('\n')) {
      const { level, time, msg } = JSON.parse(line)
      t.equal(level, 'info', line)
      t.equal(new Date(time).toISOString(), time)
      t.type(msg, 'string')
    }
    const said = written.split('\n').find((line) => address.test(line)) ?? ''
    t.match(JSON.parse(said), {
      url: `http://${host}:${port}`,
      rewards: ['one'],
      pid: Number,
      hostname: String,
    })
  })

  await t.test(
    'lets thousands of connections wait while it is busy, without a reset',
    { skip },
    async (t) => {
      child.kill('SIGSTOP')
      const sockets = Array.from({ length: 1500 }, () => connect(Number(port), host))
      await Promise.all(sockets.map((socket) => once(socket, 'connect')))
      child.kill('SIGCONT')
      t.equal((await fetch(`http://${host}:${port}/livez`)).status, 200)
      const closed = sockets.map((socket) => once(socket, 'close'))
      for (const socket of sockets) socket.destroy()
      await Promise.all(closed)
    },
  )

  await t.test('loads what it is asked for: a start costs little', async (t) => {
    child.kill('SIGTERM')
    await exited
    const urls = readdirSync(loaded).flatMap((file) =>
      (JSON.parse(readFileSync(join(loaded, file), 'utf8')).result as { url: string }[]).map(
        ({ url }) => url,
      ),
    )
    const named = (pattern: RegExp) => new Set(urls.flatMap((url) => pattern.exec(url)?.[1] ?? []))
    const wings = named(/\/dist\/src\/(\w+)\//)
    t.ok(wings.has('serving') && wings.has('scoring'), 'what is served is loaded')
    t.notOk(wings.has('workbench') || wings.has('simulator'), [...wings].join(' '))
    const packages = named(/\/node_modules\/((?:@[^/]+\/)?[^/]+)/)
    t.ok(packages.has('fastify'))
    for (const name of [
      '@fastify/swagger',
      '@fastify/swagger-ui',
      'ajv',
      'prom-client',
      '@opentelemetry/api',
    ])
      t.notOk(packages.has(name), name)
    t.notOk(packages.has('undici'), 'no model is asked')
    t.equal(named(/\/dist\/src\/(grading\/prime)\.js/).size, 0, 'the rule does without')
  })
})

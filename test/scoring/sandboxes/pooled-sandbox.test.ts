import type { ServerResponse } from 'node:http'
import t, { type Test } from 'tap'
import type { Execution } from '../../../src/contract/execution.ts'
import { type Clock, systemClock } from '../../../src/core/clock.ts'
import { PooledSandbox } from '../../../src/scoring/sandboxes/pooled-sandbox.ts'
import type { SandboxEvents } from '../../../src/scoring/sandboxes/sandbox.ts'
import { serversConfig } from '../../../src/scoring/sandboxes/sandbox-config.ts'
import { fakeClock } from '../../support/clock.ts'
import { json, type Script, type ScriptedServer, scriptedServer } from '../../support/scripted-server.ts'

async function serverOf(t: Test, script: Script): Promise<ScriptedServer> {
  const server = await scriptedServer(script)
  t.teardown(() => server.kill())
  return server
}

function sandboxOf(
  t: Test,
  instances: readonly ScriptedServer[],
  more: object = {},
  events: SandboxEvents = {},
  clock: Clock = systemClock,
): PooledSandbox {
  const config = serversConfig.parse({
    backend: 'reward-gateway',
    instances: instances.map(({ url }) => url),
    retry: { max: 2, pause_ms: 1 },
    breaker: { failures: 5, open_s: 0.05 },
    ...more,
  })
  const sandbox = new PooledSandbox('fleet', config, { clock, events, env: {} })
  t.teardown(() => sandbox.close())
  return sandbox
}

const execution: Execution = {
  language: 'python',
  program: 'print(1)',
  cases: [
    { stdin: 'a', expected: { stdout: '1' } },
    { stdin: 'b', expected: { stdout: '1' } },
  ],
  limits: { totalSeconds: 0.001 },
}
const runOn = (sandbox: PooledSandbox, more: Partial<Execution> = {}, ms = 10_000) =>
  sandbox.run({
    execution: { ...execution, ...more },
    deadline: systemClock.now() + ms,
    signal: new AbortController().signal,
  })
const good = { ended: 'ok', passed: true, error: '', cpu_s: 0.01, wall_s: 0.02 }
const bad = { ...good, passed: false }
const right = { compiled: true, cases: [good, bad], out_of_time: false }
const answer =
  (body: unknown, status = 200) =>
  (_: unknown, response: ServerResponse) =>
    json(response, body, status)
const wanted = {
  compiled: true,
  cases: [
    { ended: 'ok', passed: true, error: '', cpuSeconds: 0.01, wallSeconds: 0.02 },
    { ended: 'ok', passed: false, error: '', cpuSeconds: 0.01, wallSeconds: 0.02 },
  ],
}

/** What a server that fails does. */
const failures: Readonly<Record<string, Script>> = {
  'breaks the connection': (_, response) => void response.destroy(),
  'answers 500': answer({ error: { code: 'sandbox_unreachable' } }, 500),
  'answers 502': answer('bad gateway', 502),
  'answers no JSON': (_, response) => void response.end('{"compiled": tr'),
  'answers something else': answer({ results: [1] }),
  'leaves out a case': answer({ ...right, cases: [good] }),
  'adds a case': answer({ ...right, cases: [good, good, good] }),
  'has cases of a program that does not compile': answer({ ...right, compiled: false }),
  'gives a case no outcome': answer({ ...right, cases: [good, { passed: false }] }),
  'passes a case that did not end well': answer({ ...right, cases: [good, { ...good, ended: 'time' }] }),
}

t.test('what a server failed to run is run elsewhere, and is never a verdict', async (t) => {
  for (const [what, script] of Object.entries(failures)) {
    const failing = await serverOf(t, script)
    const retried: unknown[] = []
    const events = { retried: (retry: object) => retried.push(retry) }
    const alone = await runOn(sandboxOf(t, [failing], { wait_for_instance: 0 }, events))
    t.match(alone, { failure: { kind: 'sandbox_unreachable', retryable: true } }, what)
    t.match(retried[0], { sandbox: 'fleet', kind: 'sandbox_unreachable' })
    const working = await serverOf(t, answer(right))
    const both = sandboxOf(t, [failing, working])
    for (let times = 0; times < 4; times++)
      t.same(await runOn(both), { result: wanted }, `${what}, elsewhere`)
  }
})

t.test('a result is what the program did', async (t) => {
  const whole = { compiled: true, cases: [], out_of_time: true }
  const table: readonly (readonly [object, Partial<Execution>, number])[] = [
    [{ compiled: false, cases: [], out_of_time: false }, {}, 0],
    [whole, {}, 0],
    [{ ...right, cases: [bad] }, { stop: 'first_failure' }, 1],
    [{ ...right, cases: [good] }, { stop: 'first_passes' }, 1],
    [{ ...right, cases: [bad, { ...good, stdout: '1', value: [1] }] }, {}, 2],
  ]
  for (const [body, more, cases] of table) {
    const outcome = await runOn(sandboxOf(t, [await serverOf(t, answer(body))]), more)
    t.equal('result' in outcome && outcome.result.cases.length, cases)
  }
  const cut = { ...right, cases: [good] }
  const passed = await runOn(sandboxOf(t, [await serverOf(t, answer(cut))]), { stop: 'first_failure' })
  t.match(passed, { failure: { kind: 'sandbox_unreachable' } }, 'nothing failed, so nothing may be missing')
})

t.test('failures have the names of sandboxes', async (t) => {
  const silent = await serverOf(t, () => {})
  const clock = fakeClock(0)
  const slow = sandboxOf(t, [silent], { health: { interval_s: 0 }, retry: { max: 0 } }, {}, clock)
  const never = new AbortController()
  const late = slow.run({ execution, deadline: 600_000, signal: never.signal })
  const short = slow.run({ execution, deadline: 50_000, signal: never.signal })
  await silent.saw(2)
  clock.advance(50_000)
  t.match(await short, { failure: { kind: 'deadline', retryable: true } })
  clock.advance(50_000)
  t.match(await late, { failure: { kind: 'sandbox_timeout', retryable: true } })
  const locked = sandboxOf(t, [await serverOf(t, answer({}, 401))])
  t.match(await runOn(locked), { failure: { kind: 'sandbox_unreachable', retryable: false, detail: /401/ } })
  const full = sandboxOf(t, [await serverOf(t, answer({}, 429))], { retry: { max: 1, pause_ms: 1 } })
  t.match(await runOn(full), { failure: { kind: 'overloaded', retryable: true } })
  const client = new AbortController()
  const running = slow.run({ execution, deadline: 600_000, signal: client.signal })
  client.abort()
  t.match(await running, { failure: { kind: 'cancelled' } })
})

t.test('programs wait while no server answers, and run when one is back', async (t) => {
  const server = await serverOf(t, answer(right))
  const events: string[] = []
  const sandbox = sandboxOf(
    t,
    [server],
    {},
    { ejected: () => events.push('out'), readmitted: () => events.push('back') },
  )
  t.same(await runOn(sandbox), { result: wanted })
  await server.kill()
  const waiting = [runOn(sandbox), runOn(sandbox)]
  while (sandbox.snapshot().parked === null) await new Promise(setImmediate)
  t.match(sandbox.snapshot(), { parked: { questions: 2 }, isPatient: true })
  const lost = await runOn(sandbox, {}, 50)
  t.match(lost, {
    failure: { kind: 'sandbox_unreachable', detail: /no server of the sandbox 'fleet' answers/ },
  })
  await server.revive()
  t.same(await Promise.all(waiting), [{ result: wanted }, { result: wanted }])
  t.same(events, ['out', 'back'])
})

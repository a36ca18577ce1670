import t from 'tap'
import { logSandboxes } from '../../../src/cli/serve/server-log.ts'
import { explainPlan } from '../../../src/scoring/plan/explain.ts'
import { readEvents } from '../../support/event-stream.ts'
import { inspectedApp } from '../../support/inspected.ts'
import { withoutSandbox, zygotes } from '../../support/sandbox.ts'

const skip = await withoutSandbox()
const step = { name: 'tests', function: 'code-tests', sandbox: 'local' }
const sample = (program: string) => ({
  prompt: 'p',
  response: `\`\`\`python\n${program}\n\`\`\``,
  ground_truth: { inputs: ['2'], outputs: ['4'] },
})
const right = 'print(int(input()) * 2)'

t.test('what the server says of a sandbox', { skip }, async (t) => {
  const before = zygotes()
  const { app, gateway } = await inspectedApp(t, {
    gateway: {
      sandboxes: { local: { programs: 1 }, open: { programs: 1, isolation: 'unconfined' } },
    },
    code: { steps: [step] },
  })
  const scored = async (...programs: string[]) => {
    const payload = { reward: 'code', samples: programs.map(sample) }
    const reply = await app.inject({ method: 'POST', url: '/v1/score', payload })
    return (reply.json() as { results: { reward: number | null }[] }).results.map(({ reward }) => reward)
  }
  t.same(await scored(right, 'print(3)', right), [1, 0, 1])

  t.notMatch(explainPlan(gateway.reward('code')).join(), /one request/, 'a program needs no other answers')

  await t.test('the log names the confinement at the start, and warns where there is none', async (t) => {
    const lines: [string, unknown, string][] = []
    const write = (level: string) => (line: unknown, text: string) => void lines.push([level, line, text])
    logSandboxes({ info: write('info'), warn: write('warn') }, gateway)
    t.match(lines, [
      [
        'info',
        { sandbox: 'local', confinement: /seccomp.*network, files and other processes/ },
        /in a sandbox/,
      ],
      ['warn', { sandbox: 'open', confinement: /NOT CONFINED/ }, /not confined/],
    ])
  })

  await t.test('a process that is killed at rest costs no verdict and is counted', async (t) => {
    const own = zygotes().filter((pid) => !before.includes(pid))
    for (const pid of own) process.kill(pid, 'SIGKILL')
    while (zygotes().some((pid) => own.includes(pid))) await new Promise(setImmediate)
    t.same(await scored(right, right), [1, 1])
    const text = (await app.inject('/metrics')).body
    t.match(text, /sandbox_restarts_total\{sandbox="local",instance="local"\} 1\n/)
    t.match(text, /sandbox_duration_seconds_count\{sandbox="local",outcome="ok"\} 5\n/)
    t.match(text, /sandbox_queue_seconds_count\{sandbox="local"\} 3\n/)
    t.match(text, /sandbox_in_flight\{sandbox="local",instance="local"\} 0\n/)
    t.match(text, /sandbox_limit\{sandbox="local",instance="local"\} 1\n/)
    t.match(text, /sandbox_waiting\{sandbox="local"\} 0\n/)
    t.match(text, /sandbox_confined\{sandbox="local"\} 1\n/)
    t.match(text, /sandbox_confined\{sandbox="open"\} 0\n/)
  })

  await t.test('the page shows it', async (t) => {
    const response = await app.inject({ url: '/ui/api/events', payloadAsStream: true })
    const stream = response.stream()
    const { sandboxes } = (await readEvents(stream).next('status')) ?? {}
    t.match(sandboxes, [
      { name: 'local', backend: 'local', is_confined: true, instances: [{ address: 'local', calls: 5 }] },
      { name: 'open', is_confined: false },
    ])
    stream.destroy()
  })

  await t.test('a reload keeps a sandbox that stays the same', async (t) => {
    const running = zygotes()
    await gateway.reload()
    t.same(zygotes(), running)
    t.same(await scored(right), [1])
  })
})

import { rmSync } from 'node:fs'
import t from 'tap'
import { ListenerGuard } from '../../../src/core/listener-guard.ts'
import { openGateway } from '../../../src/index.ts'
import { openGateway as openPlainGateway } from '../../../src/scoring/gateway/gateway.ts'
import { openObservedGateway } from '../../../src/serving/observed-gateway.ts'
import { openMetrics } from '../../../src/serving/telemetry/metrics/metrics.ts'
import { fakeClock } from '../../support/clock.ts'
import { outcomesOf, resultOf, sampleOf, testGateway, testModel } from '../../support/gateway.ts'
import { probesOff } from '../../support/models.ts'

const secret = 'text of a sample at /secret.ts:1:1'
const throws = () => {
  throw new TypeError(secret)
}

t.test("a user's callback that throws or rejects affects no job", async (t) => {
  const folder = t.testdir({ 'half.yaml': 'steps: [{ name: rule, function: exact-match }]\n' })
  const gateway = await openGateway({ configs: [`${folder}/half.yaml`] })
  t.teardown(() => gateway.close(0))
  const warned: Error[] = []
  const hear = (warning: Error & { code?: string }) => {
    if (warning.code === 'RG_LISTENER') warned.push(warning)
  }
  process.on('warning', hear)
  t.teardown(() => process.off('warning', hear))
  const job = (onOutcome?: () => void) =>
    gateway.score({
      reward: 'half',
      rollouts: Array.from({ length: 20 }, () => ({ response: 'x', groundTruth: 'x' })),
      ...(onOutcome && { onOutcome }),
    })
  const jobs = await Promise.all([
    job(throws),
    job(),
    job(async () => throws()),
    job(() => {
      throw null
    }),
    job(() => {
      throw new Proxy(new Error(), { get: throws, getPrototypeOf: throws })
    }),
  ])
  for (const { outcomes } of jobs) t.strictSame(outcomes.map(resultOf), Array<number>(20).fill(1))
  await new Promise((resolve) => setImmediate(resolve))
  t.equal(warned.length, 1, 'a hundred failures are told of once')
  t.match(warned[0]?.message, /onOutcome threw TypeError at listeners\.test\.[jt]s:\d+:\d+/)
  t.notMatch(warned[0]?.message, /secret|sample at/)
})

t.test("a user's callback can change only its own copy of an outcome", async (t) => {
  const folder = t.testdir({
    'half.yaml': 'on_invalid: group_mean\nsteps: [{ name: rule, function: exact-match }]\n',
  })
  const gateway = await openGateway({ configs: [`${folder}/half.yaml`] })
  t.teardown(() => gateway.close(0))
  const rollouts = Array.from({ length: 4 }, (_, at) => ({
    prompt: 'p',
    response: 'x',
    groundTruth: at % 2 ? 'x' : 'y',
  }))
  const job = { reward: 'half', rollouts: [...rollouts, { prompt: 'p', response: 'x', groundTruth: null }] }
  const expected = await gateway.score(job)
  const changed = await gateway.score({
    ...job,
    onOutcome(_index, outcome) {
      const own = outcome as unknown as Record<string, unknown> & { terms: { score: { value: number } }[] }
      for (const term of own.terms) if (term.score) term.score.value = 99
      own.terms.length = 0
      Object.assign(own, { reward: 99, substitute: 99, valid: true, flags: ['changed'] })
    },
  })
  t.strictSame(changed, expected)
})

t.test('throwing listeners never prevent scoring, counting or reporting', async (t) => {
  const { config } = await testModel(t, 1, { policy: 'constant', constant: 1 }, probesOff)
  const metrics = openMetrics({ version: 'test', inFlight: () => 0 })
  t.teardown(() => metrics.close())
  const told: string[] = []
  const clock = fakeClock()
  const guard = new ListenerGuard(clock, {
    failed: metrics.listenerFailed,
    told: ({ listener, fault }) => told.push(`${listener} ${fault}`),
  })
  const all = (...names: string[]) => Object.fromEntries(names.map((name) => [name, throws]))
  const gateway = await testGateway(
    t,
    {
      gateway: { models: { judge: config } },
      both: {
        steps: [
          { name: 'rule', function: 'echo-rule' },
          { name: 'q', function: 'digit-judge', model: 'judge', op: 'add' },
        ],
      },
    },
    {
      guard,
      events: {
        engine: all('voted', 'done', 'guarded'),
        models: all('callStarted', 'callEnded', 'queued', 'retried', 'hedged', 'ejected', 'readmitted'),
        functions: all('called', 'failed', 'restarted'),
        monitors: all('alarmed'),
        reloads: { ended: throws },
      },
    },
  )
  const rows = Array.from({ length: 50 }, (_, index) => sampleOf('1', { prompt: `p${index}` }))
  const onVote = throws
  const outcomes = await outcomesOf(gateway, 'both', rows, { onVote, onOutcome: throws })
  t.strictSame(outcomes.map(resultOf), Array<number>(50).fill(2))
  await gateway.reload()
  t.equal(gateway.lastReload?.refusal, null)
  const { text } = await metrics.expose()
  t.match(text, /reward_gateway_listener_errors_total\{listener="onOutcome"\} 50/)
  t.match(text, /reward_gateway_listener_errors_total\{listener="reloads"\} 1/)
  for (const listener of ['engine', 'models', 'functions', 'onVote'])
    t.match(text, new RegExp(`listener_errors_total\\{listener="${listener}"\\} [1-9]`))
  t.equal(told.filter((line) => line.startsWith('onOutcome')).length, 1, 'once a minute')
  t.ok(told.every((line) => !line.includes('secret')))
})

t.test('a listener that settings ask for hears the requests of their reading, and no others', async (t) => {
  const folder = t.testdir({
    'gateway.yaml': 'log: { slow_sample_s: 1 }',
    'half.yaml': 'steps: [{ name: rule, function: exact-match }]\n',
  })
  const heard: (number | undefined)[] = []
  const gateway = await openObservedGateway({
    configs: [folder],
    functionFolders: [],
    env: {},
    listeners: ({ log: { slow_sample_s } }) =>
      slow_sample_s === undefined ? {} : { log: { done: () => void heard.push(slow_sample_s) } },
  })
  t.teardown(() => gateway.close(0))
  const score = () => outcomesOf(gateway, 'half', [sampleOf('x', { groundTruth: 'x' })])
  await score()
  t.strictSame(heard, [1])
  rmSync(`${folder}/gateway.yaml`)
  await gateway.reload()
  await score()
  t.strictSame(heard, [1])
})

t.test('a failure in the handler of listener failures is contained', async (t) => {
  const guard = new ListenerGuard(fakeClock(), { failed: throws, told: throws })
  let ran = 0
  guard.run('one', () => {
    ran += 1
    throws()
  })
  guard.callback('two', throws)()
  t.equal(ran, 1)
})

t.test('if closing the old configs fails, it is counted and the new ones are served', async (t) => {
  const told: string[] = []
  const clock = fakeClock()
  const guard = new ListenerGuard(clock, { told: ({ listener, fault }) => told.push(`${listener} ${fault}`) })
  const folder = t.testdir({ 'half.yaml': 'steps: [{ name: rule, function: exact-match }]\n' })
  let [opened, ended] = [0, 0]
  const gateway = await openPlainGateway({
    configs: [folder],
    functionFolders: [],
    env: {},
    clock,
    guard,
    attach: () => {
      const isFirst = opened++ === 0
      return {
        listeners: {},
        close: async () => {
          ended += 1
          if (isFirst) throw new Error('the disk is gone')
        },
      }
    },
  })
  await gateway.reload()
  while (told.length === 0) await new Promise((resolve) => setImmediate(resolve))
  t.equal(ended, 1)
  t.match(told[0], /^close threw Error/)
  t.strictSame((await outcomesOf(gateway, 'half', [sampleOf('x', { groundTruth: 'x' })])).map(resultOf), [1])
  await gateway.close(0)
  t.equal(ended, 2)
})

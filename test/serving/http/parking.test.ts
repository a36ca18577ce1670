import type { FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { testApp } from '../../support/app.ts'
import { until } from '../../support/models.ts'
import {
  completion,
  type Script,
  type ScriptedServer,
  scriptedServer,
} from '../../support/scripted-server.ts'
import { slowness } from '../../support/yardstick.ts'

/** Scores odd answers 1 and even ones 0, and prefers A of a pair. */
const judging: Script = (seen) => {
  const [, number] = /n=(\d+)/.exec(JSON.stringify(seen.body)) ?? []
  return completion(
    seen,
    JSON.stringify(seen.body).includes('Which is larger') ? 'A' : String(Number(number) % 2),
  )
}

const step = (name: string, more: object = {}) => ({ name, function: 'digit-judge', model: name, ...more })
const after = (ms: number) => new Promise<void>((resolve) => void setTimeout(resolve, ms))

interface World {
  readonly app: FastifyInstance
  readonly origin: string
  readonly judge: ScriptedServer
  readonly other: ScriptedServer
  post(path: string, body: object, patienceMs?: number): Promise<Answer | null>
}

interface Answer {
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: replies of several formats
  readonly json: any
}

/** Two judges behind rewards that ask one of them, both or none; `judge` is killed before the test goes on. */
async function worldOf(t: Test, gateway: object = {}, model: object = {}): Promise<World> {
  const [judge, other] = await Promise.all([scriptedServer(judging), scriptedServer(judging)])
  const modelOf = ({ url }: ScriptedServer) => ({ model: 'm', instances: [url], ...model })
  const app = await testApp(t, {
    gateway: { models: { judge: modelOf(judge), other: modelOf(other) }, ...gateway },
    judged: { steps: [step('judge')] },
    both: {
      steps: [{ name: 'rule', function: 'exact-match' }, step('judge'), { ...step('other'), weight: 0.5 }],
    },
    else: { steps: [step('other')] },
    ruled: { steps: [{ name: 'rule', function: 'exact-match' }] },
    group: {
      group: { wait_s: 30 },
      steps: [{ name: 'duel', function: 'number-duel', model: 'judge' }],
    },
  })
  const origin = await app.listen({ port: 0, host: '127.0.0.1' })
  t.teardown(async () => {
    await app.close()
    await Promise.all([judge.kill(), other.kill()])
  })
  const post = async (path: string, body: object, patienceMs = 60_000): Promise<Answer | null> => {
    try {
      const response = await fetch(origin + path, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
        signal: AbortSignal.timeout(patienceMs),
      })
      return { status: response.status, json: await response.json() }
    } catch {
      return null
    }
  }
  const before = { reward: 'both', samples: [{ response: 'n=1 before', ground_truth: 'x' }] }
  t.equal((await post('/v1/score', before))?.json.results[0].valid, true)
  return { app, origin, judge, other, post }
}

const samplesOf = (count: number, what: string) =>
  Array.from({ length: count }, (_, i) => ({ id: `${i}`, response: `n=${i} ${what}`, ground_truth: 'x' }))

const readyOf = async ({ app }: World) => {
  const response = await app.inject('/readyz')
  return { status: response.statusCode, ...response.json() }
}

const metricOf = async ({ app }: World, name: string) =>
  Number(
    new RegExp(`^reward_gateway_${name}\\{model="judge"\\} (.*)$`, 'm').exec(
      (await app.inject('/metrics')).body,
    )?.[1],
  )

t.test('while a judge is away for two seconds (M54)', async (t) => {
  const world = await worldOf(t)
  const { judge, other, post } = world
  t.match(await readyOf(world), { status: 200, ready: true, missing: { length: 0 }, parked: { length: 0 } })
  await judge.kill()
  const began = performance.now()
  const asked = { judge: judge.seen.length, other: other.seen.length }
  const scoring = post('/v1/score', { reward: 'both', samples: samplesOf(200, 'row') })

  await t.test("the other judge's terms of the same rows are computed", async () => {
    await until(() => other.seen.length - asked.other === 200)
  })
  while ((await readyOf(world)).parked[0]?.questions !== 200) await after(20)

  await t.test('rewards that do not ask it are computed', async (t) => {
    t.equal(
      (await post('/v1/score', { reward: 'else', samples: samplesOf(3, 'else') }))?.json.results[1].reward,
      1,
    )
    t.equal((await post('/v1/score', { reward: 'ruled', samples: samplesOf(3, 'ruled') }))?.status, 200)
  })

  await t.test('the gateway is ready, and tells how many questions wait and since when', async (t) => {
    t.match(await readyOf(world), {
      status: 200,
      ready: true,
      missing: [/model 'judge'/],
      parked: [{ model: 'judge', questions: 200, since: /^\d{4}-.*Z$/ }],
    })
    t.equal(await metricOf(world, 'questions_parked'), 200)
  })

  const late = post('/v1/score', { reward: 'judged', samples: samplesOf(50, 'late') })
  await after(Math.max(0, 2000 - (performance.now() - began)))
  const parkedSeconds = await metricOf(world, 'parked_seconds')
  await judge.revive()

  await t.test('no row is lost: each has its reward, in the order of the rows', async (t) => {
    const { results } = (await scoring)?.json ?? {}
    t.strictSame(
      results.map(({ id, valid, reward }: Record<string, unknown>) => [id, valid, reward]),
      samplesOf(200, '').map(({ id }, i) => [id, true, (i % 2) * 1.5]),
    )
    t.ok((await late)?.json.results.every(({ valid }: { valid: boolean }) => valid))
  })

  await t.test('no question is asked twice', async (t) => {
    t.equal(judge.seen.length - asked.judge, 250)
    t.equal(other.seen.length - asked.other, 203)
  })

  await t.test('the time is counted, and nothing is parked afterwards', async (t) => {
    t.ok(parkedSeconds > 1, `${parkedSeconds}`)
    t.match(await readyOf(world), { status: 200, missing: { length: 0 }, parked: { length: 0 } })
    t.equal(await metricOf(world, 'questions_parked'), 0)
  })
})

t.test(
  'a request of more rows than questions may be under way waits for no judge that is away (M54)',
  async (t) => {
    const world = await worldOf(t, {}, { sampling: { temperature: 0 } })
    const { judge, other, post } = world
    await judge.kill()
    const asked = other.seen.length
    // As many of the same question as may be under way: they are asked once. Then rows with questions of their own.
    const same = Array.from({ length: 4500 }, (_, id) => ({
      id: `${id}`,
      response: 'n=1',
      ground_truth: 'x',
    }))
    const samples = [...same, ...samplesOf(50, 'more')]
    const scoring = post('/v1/score', { reward: 'both', samples })
    await until(() => other.seen.length - asked === 1 + 50)
    await judge.revive()
    const { results } = (await scoring)?.json ?? {}
    t.equal(results.length, samples.length)
    t.ok(results.every(({ valid }: { valid: boolean }) => valid))
  },
)

t.test('a trainer that gives up and asks again (M54)', async (t) => {
  const world = await worldOf(t, {}, { sampling: { temperature: 0 } })
  const { judge, other, post } = world
  const members = [0, 1, 2].map((index) => ({
    prompt: 'p',
    response: `n=${index} member`,
    group_id: 'g',
    group_index: index,
    group_size: 3,
  }))
  const requests = [
    ['/v1/score', { reward: 'both', samples: samplesOf(20, 'again') }],
    ['/wire/slime/judged', { prompt: 'q', response: 'n=1 slime', label: '1' }],
    ...members.map((sample) => ['/v1/score', { reward: 'group', samples: [sample] }] as const),
  ] as const
  await judge.kill()
  const [judged, others] = [judge.seen.length, other.seen.length]
  const send = (patienceMs: number) =>
    Promise.all(requests.map(([path, body]) => post(path, body, patienceMs)))

  await t.test('takes its questions with it each time', async (t) => {
    // Long enough for the answers of the model that is there, on a slow machine too.
    const patienceMs = 700 * slowness()
    for (let time = 0; time < 3; time += 1) {
      t.ok((await send(patienceMs)).every((answer) => answer === null))
      while ((await readyOf(world)).parked.length > 0) await after(10)
    }
    t.equal(judge.seen.length, judged)
  })

  const answers = send(60_000)
  await until(() => other.seen.length - others >= 20)
  await judge.revive()
  const [rows, slime, ...group] = await answers

  await t.test('gets its answer, on every route and for groups', async (t) => {
    t.ok(rows?.json.results.every(({ valid }: { valid: boolean }) => valid))
    t.equal(slime?.status, 200)
    t.equal(group.length, 3)
    for (const member of group) t.match(member?.json.results[0], { valid: true, reward: Number })
  })

  await t.test('costs no question twice: answers are kept, and what was parked is asked once', async (t) => {
    t.equal(other.seen.length - others, 20)
    // Three pairs in both orders.
    t.equal(judge.seen.length - judged, 20 + 1 + 6)
  })

  await t.test('leaves nothing in flight', async (t) => {
    t.match((await world.app.inject('/metrics')).body, /reward_gateway_samples_in_flight 0\n/)
  })
})

t.test(
  'a row fails at its deadline only, and says how long it was parked and for which model (M54)',
  async (t) => {
    const world = await worldOf(t, { limits: { deadline_s: 2 } })
    const { judge, post } = world
    await judge.kill()
    const answer = await post('/v1/score', { reward: 'both', samples: samplesOf(3, 'late') })
    for (const result of answer?.json.results ?? [])
      t.match(result, {
        valid: false,
        reward: null,
        failure: {
          kind: 'judge_unreachable',
          retryable: true,
          detail:
            /no instance of the model 'judge' answers; the question was parked for (1\.\d|[2-9](\.\d)?) s/,
        },
      })
    t.equal(answer?.json.results.length, 3)
  },
)

t.test(
  'while a judge is away, what asks it leaves half of the room to others, and a full line is refused (M54)',
  async (t) => {
    const world = await worldOf(t, { limits: { max_samples: 100 } }, { max_queue: 30 })
    const { judge, post } = world
    await judge.kill()
    const first = post('/v1/score', { reward: 'judged', samples: samplesOf(20, 'first') })
    while ((await readyOf(world)).parked[0]?.questions !== 20) await after(10)
    const much = await post('/v1/score', { reward: 'judged', samples: samplesOf(31, 'much') })
    t.match(much, {
      status: 429,
      json: { error: { code: 'RG_OVERLOADED', message: /no instance of their model/ } },
    })
    const second = post('/v1/score', { reward: 'judged', samples: samplesOf(10, 'second') })
    while ((await readyOf(world)).parked[0]?.questions !== 30) await after(10)
    const third = await post('/v1/score', { reward: 'judged', samples: samplesOf(1, 'third') })
    t.match(third, { status: 429, json: { error: { message: /model 'judge'/ } } })
    t.equal((await post('/v1/score', { reward: 'else', samples: samplesOf(60, 'else') }))?.status, 200)
    await judge.revive()
    for (const answer of await Promise.all([first, second]))
      t.ok(answer?.json.results.every(({ valid }: { valid: boolean }) => valid))
  },
)

t.test(
  'a number of seconds fails the questions of a judge that is away, and says so at /readyz (M54)',
  async (t) => {
    const world = await worldOf(t, {}, { wait_for_instance: 0.2 })
    const { judge, post } = world
    await judge.kill()
    const answer = await post('/v1/score', { reward: 'judged', samples: samplesOf(2, 'soon') })
    t.equal(answer?.json.results.length, 2)
    for (const result of answer?.json.results ?? [])
      t.match(result, { valid: false, failure: { kind: 'judge_unreachable' } })
    t.match(await readyOf(world), {
      status: 503,
      ready: false,
      missing: [/model 'judge'/],
      parked: { length: 0 },
    })
  },
)

t.test('a model that was never there makes a gateway unready, whatever questions do (M54)', async (t) => {
  const app = await testApp(t, {
    gateway: { models: { judge: { model: 'm', instances: ['http://127.0.0.1:9'] } } },
    judged: { steps: [step('judge')] },
  })
  t.match((await app.inject('/readyz')).json(), { ready: false, missing: [/model 'judge'/] })
})

t.test('the old name of the setting is a mistake that names the new one', async (t) => {
  const models = { judge: { model: 'm', instances: ['http://127.0.0.1:9'], wait_for_instance_s: 5 } }
  await t.rejects(testApp(t, { gateway: { models } }), {
    code: 'RG_CONFIG_INVALID',
    problems: [{ message: /^`wait_for_instance_s` is called `wait_for_instance` now; .*check --fix/ }],
  })
  const soon = { judge: { ...models.judge, wait_for_instance_s: undefined, wait_for_instance: 'soon' } }
  await t.rejects(testApp(t, { gateway: { models: soon } }), {
    code: 'RG_CONFIG_INVALID',
    problems: [{ message: "must be 'deadline', or a number of seconds up to 86400" }],
  })
})

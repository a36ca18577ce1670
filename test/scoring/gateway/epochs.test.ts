import t, { type Test } from 'tap'
import type { Sample, Term } from '../../../src/core/sample/sample.ts'
import { GroupTimes, RequestTimes } from '../../../src/core/stalls/request-times.ts'
import type { StepContext } from '../../../src/scoring/engine/context.ts'
import { incomplete } from '../../../src/scoring/engine/context.ts'
import { CrossRequestGroups } from '../../../src/scoring/engine/groups/cross-request-groups.ts'
import { CancelToken } from '../../../src/scoring/models/interface/cancel-token.ts'
import type { PlanStep } from '../../../src/scoring/plan/plan.ts'
import type { Policy } from '../../../src/simulator/policies.ts'
import { testApp } from '../../support/app.ts'
import { fakeClock } from '../../support/clock.ts'
import { outcomesOf, resultOf, sampleOf, testGateway, testModel } from '../../support/gateway.ts'
import { probesOff } from '../../support/models.ts'
import { seeded } from '../../support/seeded.ts'

const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31))
t.comment(`SEED=${seed}`)

const turns = async (count = 6) => {
  for (let turn = 0; turn < count; turn++) await new Promise(setImmediate)
}

/** A term that records the epoch of each member of its group. */
interface Told {
  readonly epochs: readonly unknown[]
}

/**
 * Sends one group's members over several epochs, as a trainer does that loses some replies and sends those
 * answers again.
 */
async function train(
  t: Test,
  random: () => number,
  settings: { size: number; epochs: number; isOverlapping: boolean },
) {
  const clock = fakeClock()
  const run = async (_context: unknown, _step: unknown, rows: readonly { sample: Sample }[]) => {
    if (random() < 0.3) await turns(2)
    const epochs = rows.map(({ sample }) => sample.extraInfo.epoch)
    return rows.map(() => ({ epochs })) as unknown as Term[]
  }
  const groups = new CrossRequestGroups(clock, run as never)
  const { size, epochs } = settings
  const step = { name: 's' } as PlanStep
  const waitMs = 1000
  let done = 0

  /** Sends an answer once. Resolves with its term, or null if the client left. */
  const send = async (sample: Sample, isLost: boolean, isReward: boolean): Promise<Told | symbol | null> => {
    const signal = new CancelToken()
    const row: Sample = { ...sample }
    const context = {
      job: { plan: { name: 'r', version: 'v' }, deadline: 1e9 },
      end: { signal },
      hold: () => () => {},
      clock,
      times: new RequestTimes(1, 0),
    }
    const joining = {
      context: context as unknown as StepContext,
      step,
      sample: row,
      row: { sample: row, earlier: {} },
      place: 0,
    }
    const joined = groups.join(joining, { size, least: size, waitMs }, new GroupTimes())
    if (isLost) {
      await turns(Math.floor(random() * 4))
      groups.sampleDone(row, false)
      signal.stop()
      return null
    }
    const term = (await joined) as unknown as Told
    groups.sampleDone(row, isReward)
    return isReward ? term : null
  }
  const answers = Array.from({ length: size }, (_, index) => `answer ${index} of 0`)
  const inEpoch: Promise<void>[][] = []
  const begun: Promise<void>[] = Array.from({ length: size }, () => Promise.resolve())
  const member = async (epoch: number, index: number, response: string): Promise<void> => {
    const sample = sampleOf(response, { prompt: 'p', group: { id: 'g', index, size }, extraInfo: { epoch } })
    let tries = 0
    for (;;) {
      await turns(Math.floor(random() * 5))
      tries += 1
      // An answer whose reply is lost, or that comes back without a reward, is sent again.
      const drawn = tries > 3 ? 1 : random()
      const term = await send(sample, drawn < 0.2, drawn > 0.35)
      if (term === null) continue
      if (term === incomplete) t.fail(`epoch ${epoch}, member ${index} starves`)
      else t.strictSame((term as Told).epochs, Array(size).fill(epoch), `epoch ${epoch}, member ${index}`)
      done += 1
      return
    }
  }
  for (let epoch = 0; epoch < epochs; epoch++) {
    const own: Promise<void>[] = []
    for (const index of answers.map((_, at) => at).sort(() => random() - 0.5)) {
      if (epoch > 0 && random() < 0.5) answers[index] = `answer ${index} of ${epoch}`
      const response = answers[index] as string
      // A trainer sends the next answer of an index only after it has the reward of the last one.
      const before = begun[index] ?? Promise.resolve()
      const next = before.then(() => member(epoch, index, response))
      begun[index] = next
      own.push(next)
    }
    inEpoch.push(own)
    if (!settings.isOverlapping) await Promise.all(own)
  }
  const all = Promise.all(inEpoch.flat())
  let isOver = false
  void all.then(() => {
    isOver = true
  })
  for (let turn = 0; turn < 5000 && !isOver; turn++) await turns(1)
  t.equal(done, size * epochs, 'every member has a term, without any waiting time')
  return { clock, groups, step, waitMs, size, answers, epochs }
}

t.test('over epochs with repeats and retries, every member is compared with its own siblings', async (t) => {
  const random = seeded(seed)
  for (let round = 0; round < 60; round++)
    await train(t, random, { size: 2 + (round % 4), epochs: 4, isOverlapping: round % 2 === 1 })
})

t.test('a retry after a lost reply gets that reply again if no new group forms', async (t) => {
  const { clock, groups, step, waitMs, size, answers, epochs } = await train(t, seeded(seed + 1), {
    size: 3,
    epochs: 2,
    isOverlapping: false,
  })
  const context = {
    job: { plan: { name: 'r', version: 'v' }, deadline: 1e9 },
    end: { signal: new CancelToken() },
    hold: () => () => {},
    clock,
    times: new RequestTimes(1, 0),
  }
  const sample = sampleOf(answers[1] as string, { prompt: 'p', group: { id: 'g', index: 1, size } })
  const again = groups.join(
    { context: context as unknown as StepContext, step, sample, row: { sample, earlier: {} }, place: 0 },
    { size, least: size, waitMs },
    new GroupTimes(),
  )
  await turns()
  clock.advance(waitMs)
  t.strictSame(((await again) as unknown as Told).epochs, Array(size).fill(epochs - 1))
})

const larger: Policy = ({ candidates: [a, b] }) => (Number(a?.text) > Number(b?.text) ? 'A' : 'B')

t.test('an answer repeated from an earlier group never starves the new one', async (t) => {
  const { config } = await testModel(t, 1, { policy: larger }, { cache: 'never', ...probesOff })
  const clock = fakeClock()
  const duel = { name: 'duel', function: 'number-duel', model: 'judge' }
  const gateway = await testGateway(
    t,
    { held: { models: { judge: config }, group: { wait_s: 300 }, steps: [duel] } },
    { clock },
  )
  const send = (answers: readonly string[], order: readonly number[]) =>
    Promise.all(
      order.map(async (index) => {
        const group = { id: 'g', index, size: answers.length }
        const row = sampleOf(answers[index] as string, { id: String(index), prompt: 'p', group })
        await turns(index)
        return [index, resultOf((await outcomesOf(gateway, 'held', [row]))[0])] as const
      }),
    ).then((found) => new Map(found))
  const first = await send(['5', '1', '2'], [0, 1, 2])
  t.ok(Number(first.get(0)) > 5, 'the best of its group')
  for (const order of [
    [0, 1, 2],
    [2, 1, 0],
    [1, 0, 2],
  ]) {
    const next = await send(['5', '8', '9'], order)
    t.ok(Number(next.get(0)) < 5, 'the same answer is the worst of the next group')
    t.ok(Number(next.get(2)) > 5)
    await send(['5', '1', '2'], order)
  }
  const same = await send(['5', '1', '2'], [0, 1, 2])
  t.strictSame(same, first, 'a policy that says the same gets the same')
})

t.test('NeMo Gym sends no training step, and no group starves', async (t) => {
  const { config } = await testModel(t, 1, { policy: larger }, { cache: 'never' })
  const duel = { name: 'duel', function: 'number-duel', model: 'judge' }
  const app = await testApp(t, { held: { models: { judge: config }, steps: [duel] } })
  const verify = (index: number, answer: string) =>
    app
      .inject({
        method: 'POST',
        url: '/wire/nemo-gym/held/verify?group_size=2',
        payload: {
          responses_create_params: { input: 'p' },
          response: { output: [{ role: 'assistant', content: answer }] },
          _ng_task_index: 0,
          _ng_rollout_index: index,
        },
      })
      .then((reply) => reply.json().reward as number)
  const epoch = (one: string, other: string) => Promise.all([verify(0, one), verify(1, other)])
  const [high, low] = await epoch('5', '1')
  t.ok(Number(high) > Number(low))
  const [now, better] = await epoch('5', '9')
  t.ok(Number(now) < Number(better), 'the same bytes as in the epoch before, with another sibling')
  t.strictSame(await epoch('5', '9'), [now, better])
})

import t from 'tap'
import { ListenerGuard } from '../../../src/core/listener-guard.ts'
import type { Outcome, Term } from '../../../src/core/sample/sample.ts'
import { RequestTimes } from '../../../src/core/stalls/request-times.ts'
import type { RequestDone } from '../../../src/scoring/engine/events.ts'
import { Monitors } from '../../../src/serving/telemetry/monitors/monitors.ts'
import { historyOf, statsOf } from '../../../src/serving/telemetry/monitors/run-stats.ts'
import type { Alarm } from '../../../src/serving/telemetry/monitors/trend-detector.ts'
import { fakeClock } from '../../support/clock.ts'
import { sampleOf } from '../../support/gateway.ts'
import { seeded } from '../../support/seeded.ts'

const seed = Number(process.env.SEED ?? 20_262)

const step = (name: string, ask: string | null, fn = name) => ({
  name,
  kind: ask ? 'model' : 'rule',
  ask,
  critique: false,
  function: { name: fn, range: [0, 1] },
})

const planOf = (steps: readonly object[]) =>
  ({ name: 'r', version: 'v', steps }) as unknown as RequestDone['plan']
const plan = planOf([step('rule', null), step('a', 'generate', 'judge'), step('b', 'generate', 'judge')])

interface Row {
  readonly group?: string
  readonly size?: number
  readonly response?: string
  /** rule, a and b; the reward is their mean unless given. null means invalid. */
  readonly scores: readonly number[] | null
  readonly reward?: number
  readonly spread?: number
  /** The guard scored it in place of the judges. */
  readonly isRefused?: boolean
}

const names = ['rule', 'a', 'b']

function outcomeOf({ scores, reward, spread = 0, isRefused = false }: Row): Outcome {
  if (!scores) {
    const failure = { kind: 'judge_timeout', retryable: true, detail: '' } as const
    return { id: '', terms: [], flags: [], valid: false, failure, substitute: null }
  }
  const terms = scores.map(
    (value, at): Term => ({
      name: names[at] ?? '',
      weight: 1,
      status: 'scored',
      score: { value, ...(isRefused && at > 0 && { flags: ['refused'] }) },
      draws: spread > 0 ? 2 : 1,
      spread,
      contribution: null,
    }),
  )
  const mean = scores.reduce((sum, value) => sum + value, 0) / scores.length
  return { id: '', terms, flags: [], valid: true, reward: reward ?? mean }
}

function done(rows: readonly Row[], more: Partial<RequestDone> = {}): RequestDone {
  return {
    plan,
    requestId: null,
    run: 'one',
    trainingStep: 0,
    rows: rows.map(({ group, size, response = '' }, index) =>
      sampleOf(response, {
        id: `${index}`,
        prompt: `p${index}`,
        ...(group && { group: { id: group, ...(size && { size }) } }),
      }),
    ),
    outcomes: rows.map(outcomeOf),
    ms: new Float64Array(rows.length),
    times: new RequestTimes(rows.length, 0),
    ...more,
  }
}

function watch() {
  const clock = fakeClock()
  const alarms: (Alarm & { run: string })[] = []
  const events = { alarmed: (alarm: Alarm & { run: string }) => void alarms.push(alarm) }
  const monitors = new Monitors({ clock, guard: new ListenerGuard(clock), events, rangeOf: () => [0, 1] })
  const stats = (run = 'one') => {
    monitors.settle()
    const found = monitors.runs('r').find((one) => one.run === run)
    if (!found) throw new Error(`no run ${run}`)
    return statsOf(found)
  }
  const value = (figure: string) => stats().figures[figure]?.value
  return { clock, monitors, alarms, stats, value }
}

t.test('the figures of groups', async (t) => {
  const { monitors, value, stats } = watch()
  const flat = ['x', 'x', 'y', 'z'].map((response) => ({ group: 'flat', response, scores: [1, 1, 1] }))
  const mixed = [1, 0, 0, 0].map((score, at) => ({
    group: 'mixed',
    response: 'word '.repeat(score === 1 ? 9 : at),
    scores: [score, score, score],
  }))
  monitors.done(done([...flat, ...mixed, { group: 'mixed', response: 'w', scores: null }]))

  t.test('say whether there is anything to learn', async (t) => {
    t.equal(stats().groups, 2)
    t.equal(value('saturated_groups_ratio'), 0.5)
    t.equal(value('group_variance'), 0.1875 / 2)
    t.equal(value('group_entropy_bits')?.toFixed(6), (0.811278 / 2).toFixed(6))
  })

  t.test('count answers that are the same or without a reward, by reason', async (t) => {
    t.equal(value('duplicate_answers_ratio'), 1 / 9)
    t.equal(value('invalid_ratio'), 1 / 9)
    t.strictSame(stats().invalid, { judge_timeout: 1 })
  })

  t.test('say that long answers are paid', async (t) => {
    t.ok((value('length_correlation') ?? 0) > 0.9)
  })

  t.test('judge nothing while there are too few rows', async (t) => {
    t.equal(stats().figures.group_variance?.standing, 'unknown')
  })
})

t.test('a group that is split over requests is counted when it is complete', async (t) => {
  const { monitors, stats, value } = watch()
  for (const score of [1, 0, 1]) {
    monitors.done(done([{ group: 'g', size: 4, response: 'r', scores: [score, score, score] }]))
  }
  t.equal(stats().groups, 0)
  monitors.done(done([{ group: 'g', size: 4, response: 'r', scores: [0, 0, 0] }]))
  t.equal(stats().groups, 1)
  t.equal(value('group_variance'), 0.25)
  t.equal(value('duplicate_answers_ratio'), 0.75)
})

t.test('rules and judges are compared by their decisions', async (t) => {
  const { monitors, value } = watch()
  monitors.done(done([{ scores: [1, 1, 1] }, { scores: [1, 0.9, 0] }, { scores: [0, 1, 1] }]))
  t.equal(value('rule_judge_disagreement_ratio'), 3 / 6)
  t.equal(value('judge_disagreement_ratio'), 1 / 3)
  monitors.done(done([{ scores: [1, 1, 1], spread: 0.5 }]))
  t.ok((value('judge_disagreement_ratio') ?? 0) > 1 / 3, 'the draws of one term differ')
})

t.test('repetition and broken judges are out of bounds once there are enough rows', async (t) => {
  const { monitors, stats } = watch()
  const rows = Array.from({ length: 512 }, (_, at) => ({
    response: 'the answer is the answer is '.repeat(40),
    scores: at % 10 === 0 ? null : [1, 1, 1],
  }))
  monitors.done(done(rows))
  const standing = (name: string) => stats().figures[name]?.standing
  t.strictSame(
    ['repetition_ratio', 'invalid_ratio', 'reward_mean', 'rule_judge_disagreement_ratio'].map(standing),
    ['high', 'high', 'high', 'ok'],
  )
})

t.test(
  `a judge flipped at step 250 is alarmed within 20 steps, a steady run is not (seed ${seed})`,
  async (t) => {
    const random = seeded(seed)
    const { monitors, alarms } = watch()
    for (let trainingStep = 0; trainingStep < 300; trainingStep += 1) {
      for (const run of ['steady', 'flipped']) {
        const isFlipped = run === 'flipped' && trainingStep >= 250
        const rows = Array.from({ length: 48 }, () => {
          const right = Number(random() < 0.7)
          const judged = random() < 0.05 ? 1 - right : right
          const a = isFlipped ? 1 - judged : judged
          return { scores: [right, a, judged], reward: right }
        })
        monitors.done(done(rows, { run, trainingStep }))
      }
      monitors.settle()
    }
    t.strictSame(
      alarms.map(({ run, figure, step: name, direction }) => [run, figure, name, direction]),
      [['flipped', 'drift', 'a', 'down']],
    )
    const [alarm] = alarms
    t.ok(alarm && alarm.training_step >= 250 && alarm.training_step < 270, `at ${alarm?.training_step}`)
  },
)

t.test(
  `a reward that rises without the rule is alarmed, one that rises with it is not (seed ${seed})`,
  async (t) => {
    const random = seeded(seed + 1)
    const { monitors, alarms, stats } = watch()
    for (let trainingStep = 0; trainingStep < 80; trainingStep += 1) {
      const share = 0.2 + (0.6 * trainingStep) / 80
      for (const run of ['hack', 'honest']) {
        const rows = Array.from({ length: 64 }, () => {
          const right = Number(random() < (run === 'hack' ? 0.3 : share))
          const liked = Number(random() < share)
          return { scores: [right, liked, liked] }
        })
        monitors.done(done(rows, { run, trainingStep }))
      }
      monitors.settle()
    }
    t.strictSame(
      alarms.map(({ run, figure }) => [run, figure]),
      [['hack', 'reward_without_accuracy']],
    )
    t.match(stats('hack').trends, { suspect: true, steps: 50 })
    t.match(stats('honest').trends, { suspect: false, reading: 'strong-positive' })
  },
)

t.test('further runs count as `other`, unless one has been silent', async (t) => {
  const { monitors, clock } = watch()
  const send = (run: string) => {
    monitors.done(done([{ scores: [1, 1, 1] }], { run }))
    monitors.settle()
  }
  const names = () => monitors.runs('r').map(({ run }) => run)
  for (let run = 0; run < 40; run += 1) send(`run ${run}`)
  t.equal(names().length, 17)
  t.ok(names().includes('other') && names().includes('run 0') && !names().includes('run 20'))
  clock.advance(600_000)
  send('late')
  t.ok(names().includes('late') && !names().includes('run 0'), 'the silent one has gone')
  t.equal(names().length, 17)
  const known = names().sort()
  for (const run of known) send(run)
  clock.advance(599_999)
  send('later')
  t.strictSame(names().sort(), known, 'none was silent for long')
})

t.test('a run resumed from a checkpoint starts over, and a late row does not restart it', async (t) => {
  const { monitors, stats } = watch()
  const send = (trainingStep: number | null) => {
    monitors.done(done([{ scores: [1, 1, 1] }], { trainingStep }))
    return stats()
  }
  for (let at = 100; at < 130; at += 1) send(at)
  t.match(send(120), { training_step: 129, rows: 23 })
  t.match(send(null), { training_step: 129, rows: 24 }, 'a request without a step belongs to the newest')
  t.match(send(50), { training_step: 50, rows: 1 })
})

t.test('a group of any number of members is counted, in one request or in many (M1)', async (t) => {
  const { monitors, stats } = watch()
  const member = { group: 'one', size: 1_000_000, response: '', scores: [1, 1, 1] }
  monitors.done(done(Array.from({ length: 140_000 }, () => member)))
  t.equal(stats().rows, 140_000)
  const apart = { ...member, group: 'two', size: 300 }
  for (let part = 0; part < 4; part++) monitors.done(done(Array.from({ length: 75 }, () => apart)))
  t.equal(stats().rows, 140_300)
  t.equal(stats().groups, 2)
})

t.test('a large request is counted completely, in several turns of the event loop (M2)', async (t) => {
  const { monitors, stats } = watch()
  monitors.done(done(Array.from({ length: 65_536 }, () => ({ scores: [1, 1, 1] }))))
  await new Promise((resolve) => setImmediate(resolve))
  const [run] = monitors.runs('r')
  const counted = run?.monitor.recent.rows ?? 0
  t.ok(counted > 0 && counted < 65_536, `${counted} rows in the first turn`)
  t.equal(stats().rows, 65_536)
})

t.test(
  'a judge with constant verdicts is out of bounds; a rule or too few verdicts are not (M43)',
  async (t) => {
    const { monitors, stats } = watch()
    const rows = (count: number, verdict: (index: number) => number) =>
      monitors.done(done(Array.from({ length: count }, (_, index) => ({ scores: [0, 0.5, verdict(index)] }))))
    const standing = () => stats().figures.constant_judges_ratio
    const constant = () =>
      Object.entries(stats().terms).flatMap(([name, term]) => (term.constant ? name : []))
    rows(255, (index) => index / 255)
    t.match(standing(), { value: 0, standing: 'unknown' })
    rows(1, () => 0.7)
    t.match(standing(), { value: 0.5, standing: 'high' }, 'one of two')
    t.strictSame(constant(), ['rule', 'a'])
    monitors.done(done([{ scores: [0, 0.6, 0.7] }]))
    t.match(standing(), { value: 0, standing: 'ok' }, 'a rule may be constant')
    t.strictSame(constant(), ['rule'])
  },
)

t.test(
  'answers that the guard refused do not hide a constant judge, and do not make one (M43)',
  async (t) => {
    const { monitors, stats } = watch()
    const rows = (count: number, row: Row) => monitors.done(done(Array.from({ length: count }, () => row)))
    const standing = () => stats().figures.constant_judges_ratio
    rows(400, { scores: [0, 0, 0], isRefused: true })
    rows(255, { scores: [0, 1, 1] })
    t.match(standing(), { value: 0, standing: 'ok' }, '255 verdicts are too few')
    rows(1, { scores: [0, 1, 0.5] })
    t.match(standing(), { value: 0.5, standing: 'high' })
  },
)

t.test('group variance is in one unit: the reward scaled to 0 to 1 (M42)', async (t) => {
  const clock = fakeClock()
  const monitors = new Monitors({ clock, guard: new ListenerGuard(clock), rangeOf: () => [-1, 2] })
  const rewards = [-1, 2, 2, 2]
  const event = done(rewards.map(() => ({ group: 'g', scores: [1, 1, 1] })))
  monitors.done({
    ...event,
    outcomes: event.outcomes.map(
      (one, index) => ({ ...one, valid: true, reward: rewards[index] ?? 0 }) as Outcome,
    ),
  })
  monitors.settle()
  const [run] = monitors.runs('r')
  if (!run) return t.fail('no run')
  const { figures } = statsOf(run)
  t.equal(figures.group_variance?.value, 0.1875)
  t.strictSame(historyOf(run).group_variances, [0, 0, 0, 0, 0, 0, 0, 1, 0, 0])
})

t.test(
  'requests that wait to be counted hold a bounded number of bytes, and later ones are counted again',
  async (t) => {
    const { monitors, stats } = watch()
    const megabyte = 'x'.repeat(1 << 20)
    const one = done([{ response: megabyte, scores: [1, 1, 1] }])
    for (let sent = 0; sent < 400; sent++) monitors.done(one)
    const counted = stats().rows
    t.ok(counted >= 64 && counted < 200, `${counted} of 400 MB were kept`)
    monitors.done(one)
    t.equal(stats().rows, counted + 1)
  },
)

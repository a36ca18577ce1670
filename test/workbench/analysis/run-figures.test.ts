import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { WatchedRun } from '../../../src/serving/telemetry/monitors/monitors.ts'
import { statsOf } from '../../../src/serving/telemetry/monitors/run-stats.ts'
import { recordFiles } from '../../../src/serving/telemetry/record/segments.ts'
import { fixed, percent } from '../../../src/workbench/analysis/decimals.ts'
import { graphArenaOrders, leaderboard } from '../../../src/workbench/analysis/leaderboard.ts'
import { groupSignal, highValueRows } from '../../../src/workbench/analysis/signal.ts'
import {
  metricsOfRun,
  readTrainingLog,
  readTrainingLogPieces,
} from '../../../src/workbench/analysis/training-log.ts'
import {
  movingAverage,
  rewardAndAccuracy,
  trainingSummary,
} from '../../../src/workbench/analysis/training-summary.ts'
import { runCommand } from '../../support/command-line.ts'
import { outcomesOf, sampleOf, testGateway } from '../../support/gateway.ts'
import { publishedSummary, readPublishedLog } from '../../support/published-log.ts'
import { recordsIn } from '../../support/records.ts'

t.test('a scored file, a record and the monitors show one group variance and entropy', async (t) => {
  const wide = {
    steps: [{ name: 'rule', function: 'gsm8k-stock', options: { format_score: -1, score: 11 } }],
  }
  // No row earns 11, so that the rewards show less than the declared range.
  const responses = Array.from({ length: 40 }, (_, at) => (at % 3 ? '#### 5' : 'I do not know'))
  const rows = responses.map((response, at) => ({ id: `${at}`, response, group: `g${at >> 2}` }))
  const folder = t.testdir({
    'wide.json': JSON.stringify(wide),
    'in.jsonl': rows
      .map(({ group, ...row }) => JSON.stringify({ ...row, prompt: 'q', ground_truth: '4', group_id: group }))
      .join('\n'),
  })
  const [scored, records] = [join(folder, 'out.jsonl'), join(folder, 'records')]
  const files = [
    '--config',
    join(folder, 'wide.json'),
    '--input',
    join(folder, 'in.jsonl'),
    '--output',
    scored,
  ]
  t.match(await runCommand(['score', ...files, '--keep', 'facts']), { code: 0 })

  const gateway = await testGateway(t, { gateway: { record: { folder: records } }, wide })
  const samples = rows.map(({ id, response, group }) =>
    sampleOf(response, { id, groundTruth: '4', group: { id: group } }),
  )
  await outcomesOf(gateway, 'wide', samples)
  await gateway.close(0)
  const [run] = gateway.runs('wide')
  const { figures } = statsOf(run as WatchedRun)

  const [record = ''] = await recordFiles(records)
  for (const file of [scored, record]) {
    const { stdout } = await runCommand(['analyze', file, '--format', 'json'])
    const { variance, entropy, saturated } = JSON.parse(stdout).sources[0].groups
    t.ok(variance > 0 && variance < 1 / 12 ** 2, `a variance of ${variance} on the scale of -1 to 11`)
    t.equal(variance.toFixed(12), figures.group_variance?.value?.toFixed(12))
    t.equal(entropy.toFixed(12), figures.group_entropy_bits?.value?.toFixed(12))
    t.equal(saturated, figures.saturated_groups_ratio?.value)
  }
  t.strictSame((await recordsIn(records))[0]?.config.range, [-1, 11])

  // Without the range, what the rewards show counts: from -1 to 1.
  writeFileSync(scored, readFileSync(scored, 'utf8').replaceAll(',"range":[-1,11]', ''))
  const { stdout } = await runCommand(['analyze', scored, '--format', 'json'])
  const ratio = JSON.parse(stdout).sources[0].groups.variance / (figures.group_variance?.value ?? 0)
  t.equal(ratio.toFixed(6), '36.000000')
})

t.test('a group has a training signal only if its answers differ', async (t) => {
  t.strictSame(groupSignal([1, 0, 0, 1]), { mean: 0.5, variance: 0.25, entropy: 1 })
  t.strictSame(groupSignal([1, 1]), { mean: 1, variance: 0, entropy: 0 })
})

t.test('high-value groups are sorted by falling variance, then by position', async (t) => {
  const groups = [
    [1, 1],
    [1, 0],
    [0.2, 0.3],
    [0, 1],
    [1, 0, 0, 0],
  ].map(groupSignal)
  t.strictSame(highValueRows(groups), { found: 3, top: [1, 3, 4] })
  t.strictSame(highValueRows(groups, { varianceMin: 0.2, entropyMin: 0, limit: 1 }), { found: 2, top: [1] })
})

t.test('models are ranked by the problems that any of them solved', async (t) => {
  const board = leaderboard(
    { exact: [9, 4, 7], values: { a: [9, -1, -2], b: [11, -2, 7] }, lengths: { a: [1, 2, 3], b: [4, 4, 4] } },
    graphArenaOrders.TSP ?? { right: 'equal', better: 'larger' },
  )
  t.match(board, {
    a: { top1: 0.5, mrr: 0.75, feasible: 1 / 3, hallucination: 1 / 3, accuracy: 1 / 3, length: 2 },
    b: { top1: 0.5, accuracy: 1 / 3 },
  })
  const none = leaderboard(
    { exact: [1], values: { a: [-1] }, lengths: { a: [0] } },
    { right: 'equal', better: 'larger' },
  )
  t.match(none, { a: { top1: null, mrr: null } })
})

t.test('numbers are rounded from their exact value, with ties to even', async (t) => {
  const cases: [number, number, string][] = [
    [0.125, 2, '0.12'],
    [0.375, 2, '0.38'],
    [-0.125, 2, '-0.12'],
    [2.5, 0, '2'],
    [1.005, 2, '1.00'],
    [0.5, 0, '0'],
    [Number.NaN, 4, 'nan'],
    [Number.NEGATIVE_INFINITY, 4, '-inf'],
  ]
  for (const [value, decimals, text] of cases) t.equal(fixed(value, decimals), text, `${value}`)
  t.equal(percent(2 / 3), '66.67%')
})

t.test("a log may mix verl's console lines, file logger lines and other lines", async (t) => {
  const log = readTrainingLog(
    [
      '(TaskRunner pid=7) step:1 - critic/score/mean:0.25 - actor/grad_norm:1e-05 - actor/entropy_loss:nan',
      'Training Progress:   1%|  | 1/100 step: of many',
      'global_step:9 - critic/score/mean:9',
      'step:2 - critic/score/mean:np.float64(-0.5) - val-core/openai/gsm8k/reward/mean@4:0.75 - perf/x:inf',
      '{"step": 3, "data": {"critic/score/mean": 1.5, "actor/grad_norm": NaN, "note": "x"}}',
      '{"step": 4, "data"',
      '{"step": "5", "data": {}}',
    ].join('\r\n'),
  )
  t.strictSame(Object.fromEntries(log), {
    'critic/score/mean': [
      [1, 0.25],
      [2, -0.5],
      [3, 1.5],
    ],
    'actor/grad_norm': [[1, 1e-5]],
    'val-core/openai/gsm8k/reward/mean@4': [[2, 0.75]],
  })
  t.match(metricsOfRun(log), {
    metrics: { train_reward: { length: 3 }, test_score: [[2, 0.75]] },
    names: { test_score: 'val-core/openai/gsm8k/reward/mean@4', entropy_loss: undefined },
  })
})

t.test('a log reads the same in chunks as in one piece, and later names of a metric count', async (t) => {
  const text =
    'step:1 - actor/entropy:0.5\r\nstep:2 - actor/entropy:0.25 - critic/rewards/mean:1\rstep:3 - x:1'
  for (const size of [1, 7, 1000]) {
    async function* pieces() {
      for (let at = 0; at < text.length; at += size) yield text.slice(at, at + size)
    }
    const log = await readTrainingLogPieces(pieces())
    t.strictSame(log, readTrainingLog(text), `${size}`)
    t.match(metricsOfRun(log).metrics, {
      entropy_loss: [
        [1, 0.5],
        [2, 0.25],
      ],
      train_reward: [[2, 1]],
    })
  }
})

t.test('a log with one huge line is read in linear time', async (t) => {
  for (const piece of ['a-', 'step:1 - ', ' - a:', 'step:', '1.', '{"']) {
    const text = `step:1 - ${piece.repeat(Math.ceil(1_000_000 / piece.length))}`
    const started = process.cpuUsage()
    readTrainingLog(text)
    t.ok(process.cpuUsage(started).user < 2_000_000, piece)
  }
})

t.test('the published reader accepts only unsigned numbers without exponents', async (t) => {
  const text =
    'global_step:7 - critic/score/mean:-1 - actor/grad_norm:1e-05\nstep:٣ - critic/score/mean: x critic/score/mean:.5'
  t.match(readPublishedLog(text), { train_reward: [[3, 0.5]], grad_norm: [[7, 1]] })
  t.throws(() => readPublishedLog('step:1 - critic/score/mean:0.5.3'), RangeError)
})

const steps = Array.from({ length: 24 }, (_, i) => i)
const metrics = {
  test_score: steps.filter((i) => i % 4 === 0).map((i) => [i, 0.5 + i / 100] as const),
  train_reward: steps.map((i) => [i, 1 - i / 50] as const),
  grad_norm: [[0, 0.5] as const, [1, 11] as const],
  entropy_loss: [[0, 1] as const, [9, 0.5] as const],
}

t.test('a summary shows trends and warnings', async (t) => {
  t.match(trainingSummary(metrics), {
    test_score: { first: '0.5000', max: '0.7000', max_step: 20, gain_percent: '40.00' },
    train_reward: { window: 6, first_mean: '0.9500' },
    correlation: { value: '-1.0000', reading: 'strong-negative' },
    grad_norm: { max: '11.0000', warn_clip: true },
    entropy: { change_percent: '-50.00', warn_collapse: true },
  })
  t.strictSame(trainingSummary({}), {})
})

t.test('a summary has no percentage of zero, where the published one fails', async (t) => {
  const zero = { test_score: [[0, 0] as const, [1, 0.5] as const], entropy_loss: [[0, 0] as const] }
  t.match(trainingSummary(zero), { test_score: { gain_percent: null }, entropy: { change_percent: null } })
  t.throws(() => publishedSummary(zero), RangeError)
})

t.test('a constant reward correlates with nothing, where the published summary says otherwise', async (t) => {
  const flat = { ...metrics, train_reward: metrics.train_reward.map(([step]) => [step, 1] as const) }
  t.match(trainingSummary(flat), { correlation: { value: null, reading: 'constant' } })
  t.match(publishedSummary(flat), { correlation: { value: 'nan', reading: 'strong-negative' } })
  t.equal(rewardAndAccuracy([[1, 1]], []), null)
})

t.test('a moving average is the mean of the points within its window', async (t) => {
  const points = [
    [0, 1],
    [1, 2],
    [2, 6],
  ] as const
  t.strictSame(movingAverage(points, 3), [
    [0, 1.5],
    [1, 3],
    [2, 4],
  ])
})

import t from 'tap'
import { graphArenaOrders, leaderboard } from '../../src/analysis/leaderboard.ts'
import { groupSignal, highValueRows, signalOver, solvedReport } from '../../src/analysis/signal.ts'
import { sum } from '../../src/statistics/sum.ts'

t.test('a group teaches where its answers differ', async (t) => {
  t.strictSame(groupSignal([1, 0, 0, 1]), { mean: 0.5, variance: 0.25, entropy: 1 })
  t.strictSame(groupSignal([1, 1]), { mean: 1, variance: 0, entropy: 0 })
  t.strictSame(signalOver([groupSignal([1, 0]), groupSignal([1, 1])]), {
    avg_accuracy: '75.00%',
    avg_variance: '0.1250',
    avg_entropy: '0.5000',
  })
})

t.test('high-value groups come by falling variance, then by their place', async (t) => {
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

t.test('a group counts as solved by its best answer', async (t) => {
  t.match(
    solvedReport([
      [1, 0],
      [0, 0],
      [0.1, 0.1],
      [1.1, 1.1],
    ]),
    {
      pass_at_n: '50.00%',
      failed_groups: 1,
      success_groups: 3,
    },
  )
})

t.test('models are ranked on the problems that any of them solved', async (t) => {
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

t.test('sums add in pairs, which keeps their error small', async (t) => {
  const values = Array.from({ length: 1000 }, (_, i) => Math.sin(i) * 10 ** (i % 7))
  t.ok(Math.abs(sum(values) - values.reduce((a, b) => a + b, 0)) < 1e-6)
  const tenths = Array.from({ length: 1000 }, () => 0.1)
  t.ok(Math.abs(sum(tenths) - 100) < Math.abs(tenths.reduce((a, b) => a + b, 0) - 100))
  t.equal(sum([]), 0)
})

import { readFileSync } from 'node:fs'
import t from 'tap'
import { majorityAnswer, passAtK, passesAmongFirst } from '../../../src/core/statistics/accuracy.ts'
import { bradleyTerry, winProbability } from '../../../src/core/statistics/bradley-terry.ts'
import { DriftDetector } from '../../../src/core/statistics/drift.ts'
import { repeatedSubstringShare } from '../../../src/core/statistics/repeated-share.ts'
import { binaryEntropy, extent, pearson, sum } from '../../../src/core/statistics/summary.ts'
import { cpuMs } from '../../support/cpu.ts'
import { seeded } from '../../support/seeded.ts'

const seed = Number(process.env.SEED ?? 20_261)
const steps = 500

/** Means of 64 rows that are right with probability p. */
function binomial(random: () => number): (p: number) => number {
  return (p) => {
    let right = 0
    for (let row = 0; row < 64; row += 1) right += Number(random() < p)
    return right / 64
  }
}

function normal(random: () => number): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
}

/** The step of the first alarm; null: none. */
function firstAlarm(series: (step: number) => number): number | null {
  const detector = new DriftDetector()
  for (let step = 0; step < steps; step += 1) if (detector.push(series(step), 0.0078)) return step
  return null
}

t.test(`stationary runs of 500 steps raise at most one alarm in twenty (seed ${seed})`, async (t) => {
  const random = seeded(seed)
  const kinds: Record<string, () => (step: number) => number> = {
    'right answers': () => {
      const draw = binomial(random)
      const p = 0.3 + 0.6 * random()
      return () => draw(p)
    },
    'normal noise': () => () => 0.5 + 0.05 * normal(random),
    'steps that resemble the one before': () => {
      let state = 0
      return () => {
        state = 0.4 * state + normal(random)
        return 0.5 + 0.03 * state
      }
    },
  }
  for (const [name, kind] of Object.entries(kinds)) {
    const alarmed = Array.from({ length: 100 }, () => firstAlarm(kind())).filter((step) => step !== null)
    t.ok(alarmed.length <= 5, `${name}: ${alarmed.length} of 100 runs`)
  }
})

t.test(`a judge flipped at step 250 is alarmed within 20 steps (seed ${seed})`, async (t) => {
  const random = seeded(seed + 1)
  const draw = binomial(random)
  for (const p of [0.35, 0.65, 0.8, 0.95]) {
    const alarms = Array.from({ length: 50 }, () => firstAlarm((step) => draw(step < 250 ? p : 1 - p)))
    const late = alarms.filter((step) => step === null || step < 250 || step >= 270)
    t.strictSame(late, [], `right with probability ${p}`)
  }
})

t.test(`neither learning nor one wild step is drift (seed ${seed})`, async (t) => {
  const random = seeded(seed + 2)
  const curves: ((step: number) => number)[] = [
    (step) => 0.1 + 0.7 * (1 - Math.exp(-step / 100)),
    (step) => 0.2 + (0.6 * step) / steps,
    (step) => (step === 300 ? 0 : 0.9),
  ]
  for (const [at, curve] of curves.entries()) {
    const alarmed = Array.from({ length: 100 }, () =>
      firstAlarm((step) => curve(step) + 0.02 * normal(random)),
    ).filter((step) => step !== null)
    t.ok(alarmed.length <= 5, `curve ${at}: ${alarmed.length} of 100 runs`)
  }
})

t.test('a correlation matches its definition, and a constant has none', async (t) => {
  t.equal(pearson([1, 2, 3], [2, 4, 6])?.toFixed(12), '1.000000000000')
  t.ok(Math.abs((pearson([1, 2, 3, 4], [1, 3, 2, 4]) ?? 0) - 0.8) < 1e-12)
  t.equal(pearson([1, 2, 3], [5, 5, 5]), null)
})

t.test('the entropy of a share matches its definition, and is 0 outside 0 to 1', async (t) => {
  t.strictSame([0, 0.5, 1, 1.3].map(binaryEntropy), [0, 1, 0, 0])
})

t.test('the share of repeated text tells a loop from a text', async (t) => {
  t.equal(repeatedSubstringShare('short'), 0)
  const words = Array.from({ length: 700 }, (_, at) => `w${(at * 7919) % 1009}`).join(' ')
  t.ok(repeatedSubstringShare(words) < 0.05, 'no word comes back soon')
  t.ok(repeatedSubstringShare('I will check the answer again. '.repeat(200)) > 0.95)
})

t.test('the share of repeated text of a long answer costs no more than of a short one', async (t) => {
  const began = cpuMs()
  repeatedSubstringShare('x'.repeat(1 << 20))
  t.ok(cpuMs() - began < 50)
})

t.test('sums add in pairs, which keeps their error small', async (t) => {
  const values = Array.from({ length: 1000 }, (_, i) => Math.sin(i) * 10 ** (i % 7))
  t.ok(Math.abs(sum(values) - values.reduce((a, b) => a + b, 0)) < 1e-6)
  const tenths = Array.from({ length: 1000 }, () => 0.1)
  t.ok(Math.abs(sum(tenths) - 100) < Math.abs(tenths.reduce((a, b) => a + b, 0) - 100))
  t.equal(sum([]), 0)
})

t.test('pass@k is the share of draws of k that hold a right answer', async (t) => {
  t.equal(passAtK(4, 0, 2), 0)
  t.equal(passAtK(4, 3, 2), 1)
  t.ok(Math.abs(passAtK(4, 1, 2) - 1 / 2) < 1e-12)
  t.ok(Math.abs(passAtK(5, 2, 3) - 9 / 10) < 1e-12)
})

t.test(
  `pass@1 is the share of right answers, and pass@n says whether there is any (seed ${seed})`,
  async (t) => {
    const random = seeded(seed)
    for (let round = 0; round < 200; round++) {
      const n = 1 + Math.floor(random() * 64)
      const c = Math.floor(random() * (n + 1))
      t.ok(Math.abs(passAtK(n, c, 1) - c / n) < 1e-12, `n ${n}, c ${c}`)
      t.equal(passAtK(n, c, n), c > 0 ? 1 : 0)
    }
  },
)

t.test('the first k answers and their majority', async (t) => {
  t.notOk(passesAmongFirst([false, false, true], 2))
  t.ok(passesAmongFirst([false, false, true], 3))
  t.equal(majorityAnswer(['a', 'b', 'b', 'a', 'a'], 4), 0, 'a tie goes to what was met first')
  t.equal(majorityAnswer(['a', 'b', 'b', 'a', 'a'], 3), 1)
  t.equal(majorityAnswer([], 3), -1)
})

interface Table {
  readonly count: number
  readonly comparisons: readonly (readonly [number, number, number, number])[]
  readonly strengths: readonly number[]
}

const fitted = ({ count, comparisons }: Pick<Table, 'count' | 'comparisons'>): number[] =>
  bradleyTerry(
    count,
    comparisons.map(([first, second, wins, losses]) => ({ first, second, wins, losses })),
  )

t.test('the strengths are those of the Python package choix within 1e-6, on 100 tables', async (t) => {
  const file = 'test/fixtures/bradley-terry/tables.json'
  const tables = JSON.parse(readFileSync(file, 'utf8')) as readonly Table[]
  t.equal(tables.length, 100)
  const distances = tables.map((table) =>
    Math.max(...fitted(table).map((strength, index) => Math.abs(strength - (table.strengths[index] ?? NaN)))),
  )
  t.ok(Math.max(...distances) < 1e-6, `farthest: ${Math.max(...distances)}`)
})

t.test(
  'an unbeaten answer has a finite strength, and one that was never compared an average one',
  async (t) => {
    const [winner = 0, loser = 0, absent = NaN] = fitted({ count: 3, comparisons: [[0, 1, 1, 0]] })
    t.ok(winner > 1.6 && winner < 1.7, String(winner))
    t.ok(Math.abs(winner + loser) < 1e-9)
    t.equal(absent, 0)
    t.strictSame(fitted({ count: 0, comparisons: [] }), [])
    t.equal(winProbability(0, 0), 0.5)
    t.equal(winProbability(800, 0), 1)
  },
)

t.test('fractions of wins count, and a long ring or a large group is fitted quickly', async (t) => {
  const halves = bradleyTerry(2, [{ first: 0, second: 1, wins: 0.7, losses: 0.3 }], 1e-9)
  t.ok(Math.abs(winProbability(halves[0] ?? 0, halves[1] ?? 0) - 0.7) < 1e-6)
  const began = cpuMs()
  const ring = fitted({
    count: 512,
    comparisons: Array.from({ length: 512 }, (_, i) => [i, (i + 1) % 512, 1, 0]),
  })
  t.ok(
    ring.every((strength) => Math.abs(strength) < 1e-6),
    'a ring of wins has no order',
  )
  const pairs = Array.from({ length: 64 * 64 }, (_, i) => [i % 64, Math.floor(i / 64)] as const)
  const all = fitted({
    count: 64,
    comparisons: pairs.filter(([a, b]) => a < b).map(([a, b]) => [a, b, 1, 0] as const),
  })
  t.ok(
    all.every((strength, index) => index === 0 || strength < (all[index - 1] ?? 0)),
    'in order',
  )
  t.ok(cpuMs() - began < 2000)
})

t.test('the extent of a million values is found, where spread arguments would throw (M1)', async (t) => {
  const values = Array.from({ length: 1_000_000 }, (_, index) => (index * 7919) % 1_000_003)
  t.strictSame(extent(values), [0, values.reduce((greatest, value) => Math.max(value, greatest))])
  t.strictSame(extent([]), [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY])
})

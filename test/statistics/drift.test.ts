import t from 'tap'
import { DriftDetector } from '../../src/statistics/drift.ts'
import { binaryEntropy } from '../../src/statistics/entropy.ts'
import { pearson } from '../../src/statistics/pearson.ts'
import { repeatedShare } from '../../src/statistics/repeated-share.ts'
import { seeded } from '../support/seeded.ts'

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

t.test(`learning is no drift, and neither is one wild step (seed ${seed})`, async (t) => {
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

t.test('correlation, entropy and repetition are what their names say', async (t) => {
  t.equal(pearson([1, 2, 3], [2, 4, 6])?.toFixed(12), '1.000000000000')
  t.equal(pearson([1, 2, 3], [5, 5, 5]), null)
  t.ok(Math.abs((pearson([1, 2, 3, 4], [1, 3, 2, 4]) ?? 0) - 0.8) < 1e-12)
  t.strictSame([0, 0.5, 1, 1.3].map(binaryEntropy), [0, 1, 0, 0])
  t.equal(repeatedShare('short'), 0)
  const words = Array.from({ length: 700 }, (_, at) => `w${(at * 7919) % 1009}`).join(' ')
  t.ok(repeatedShare(words) < 0.05, 'no word comes back soon')
  t.ok(repeatedShare('I will check the answer again. '.repeat(200)) > 0.95)
  const began = performance.now()
  repeatedShare('x'.repeat(1 << 20))
  t.ok(performance.now() - began < 50, 'a long answer costs no more than a short one')
})

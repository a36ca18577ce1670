import t from 'tap'
import { compareAnswers, type Part } from '../../../src/workbench/analysis/policy-comparison.ts'
import type {
  AnsweredPrompt,
  FigureName,
  ScoredAnswer,
} from '../../../src/workbench/analysis/prompt-figures.ts'
import { seeded } from '../../support/seeded.ts'

const answer = (reward: number | null, more: Partial<ScoredAnswer> = {}): ScoredAnswer => ({
  run: 0,
  reward,
  length: 10,
  tokens: null,
  isTruncated: false,
  extracted: undefined,
  ...more,
})
const prompt = (key: string, answers: readonly ScoredAnswer[], more: Partial<AnsweredPrompt> = {}) => ({
  key,
  cluster: `the text of ${key}`,
  source: '',
  answers,
  ...more,
})

const compared = (policies: readonly (readonly AnsweredPrompt[])[], k: number, seed = 0): readonly Part[] =>
  compareAnswers(
    policies.map((prompts) => [{ benchmark: 'b', prompts }]),
    { kOf: () => k, solvedAtOf: () => 1, rounds: 1000, seed },
  )

t.test('figures of prompts with several answers', async (t) => {
  const rows = [
    prompt('0', [
      answer(1, { extracted: '4' }),
      answer(0, { extracted: '5' }),
      answer(0, { extracted: '5' }),
      answer(null),
    ]),
    prompt('1', [
      answer(1, { extracted: '6' }),
      answer(1, { extracted: '6', length: 30, isTruncated: true }),
      answer(0, { extracted: null }),
    ]),
    prompt('2', [answer(null)]),
  ]
  const [part] = compared([rows], 2)
  const [policy] = part?.policies ?? []
  const value = (figure: FigureName) => policy?.figures[figure].value ?? Number.NaN

  await t.test('an invalid answer is counted, and is in no figure', async (t) => {
    t.match(policy, { prompts: 3, answers: 8, invalid: 2 })
  })

  await t.test('each figure is the mean over prompts of the mean over their answers', async (t) => {
    const means: Partial<Record<FigureName, number>> = {
      pass1: (1 / 3 + 2 / 3) / 2,
      passK: (2 / 3 + 1) / 2,
      length: (10 + 50 / 3) / 2,
      truncated: 1 / 6,
    }
    for (const [figure, mean] of Object.entries(means))
      t.equal(value(figure as FigureName).toFixed(6), mean.toFixed(6), figure)
    t.equal(value('entropy').toFixed(4), '0.9183')
  })

  await t.test('of two answers, the first wins a tie of the majority', async (t) => {
    t.equal(value('majK'), 1)
  })

  await t.test('a figure that no answer has is null', async (t) => {
    t.equal(policy?.figures.tokens.value, null)
  })
})

t.test(
  'runs have a mean and a deviation, and data sources and benchmarks have their own figures',
  async (t) => {
    const rows = [0, 1, 2, 3].map((i) =>
      prompt(`${i}`, [answer(1), answer(i < 2 ? 1 : 0, { run: 1 })], {
        source: i % 2 === 0 ? 'even' : 'odd',
      }),
    )
    const [whole, even] = compared([rows], 1)
    const spread = whole?.policies[0]?.overRuns.mean
    t.equal(spread?.mean, 0.75)
    t.equal(spread?.deviation.toFixed(4), '0.3536')
    t.match(even, { source: 'even', policies: [{ prompts: 2, figures: { mean: { value: 0.75 } } }] })
    const suite = compareAnswers(
      [
        [
          { benchmark: 'a', prompts: rows },
          { benchmark: 'b', prompts: rows.slice(2) },
        ],
      ],
      { kOf: (name) => (name === 'a' ? 1 : 2), solvedAtOf: () => 1, rounds: 500, seed: 1 },
    ).at(-1)
    t.match(suite, {
      benchmark: null,
      k: null,
      policies: [{ prompts: 6, figures: { mean: { value: 0.625 } } }],
    })
  },
)

t.test('prompts with equal results have a Wilson interval, which is never a single point', async (t) => {
  const rows = (reward: number) => Array.from({ length: 20 }, (_, i) => prompt(`${i}`, [answer(reward)]))
  const [part] = compared([rows(1), rows(1)], 1)
  const [policy] = part?.policies ?? []
  t.equal(policy?.figures.pass1.interval?.[1], 1)
  t.ok((policy?.figures.pass1.interval?.[0] ?? 1) < 0.9)
  t.equal(policy?.figures.mean.interval, null)
  const gap = part?.differences[0]?.figures.pass1
  t.equal(gap?.value, 0)
  t.ok((gap?.interval?.[0] ?? 0) < -0.1 && (gap?.interval?.[1] ?? 0) > 0.1)
})

t.test(
  'files of other data are refused, and differences leave out rows that only one file has',
  async (t) => {
    const rows = [0, 1, 2].map((i) => prompt(`${i}`, [answer(i % 2)]))
    t.throws(() => compared([rows, rows.map((row) => ({ ...row, cluster: 'else' }))], 1), {
      code: 'RG_INPUT_INVALID',
      message: /row 0 has different prompts/,
    })
    t.throws(() => compared([rows, [prompt('9', [answer(1)])]], 1), { message: /no rows in common/ })
    t.match(compared([rows, rows.slice(1)], 1)[0]?.differences, [{ prompts: 2 }])
  },
)

t.test('equal prompts count once: copies of a data set do not make its intervals narrower', async (t) => {
  const random = seeded(5)
  const rows = Array.from({ length: 30 }, (_, i) => prompt(`${i}`, [answer(random() < 0.5 ? 1 : 0)]))
  const copies = rows.flatMap((row) => [1, 2, 3, 4].map((copy) => ({ ...row, key: `${row.key}-${copy}` })))
  const [once, often] = [compared([rows], 1), compared([copies], 1)].map(
    ([part]) => part?.policies[0]?.figures.pass1.interval,
  )
  t.strictSame(often, once)
})

/** A simulated policy: each row has its own success rate and k answers. */
const simulated = (rates: readonly number[], n: number, random: () => number) =>
  rates.map((rate, i) =>
    prompt(
      `${i}`,
      Array.from({ length: n }, () => answer(random() < rate ? 1 : 0)),
    ),
  )

t.test(
  '95 % intervals contain the true value of a simulated policy for at least 90 of 100 seeds',
  async (t) => {
    const levels = [0.05, 0.2, 0.4, 0.6, 0.8]
    const [gain, n, k, rows] = [0.12, 8, 4, 60]
    const over = (of: (rate: number) => number) =>
      levels.reduce((sum, rate) => sum + of(rate), 0) / levels.length
    const passK = (rate: number) => 1 - (1 - rate) ** k
    const truths = {
      'pass@1': over((rate) => rate),
      'pass@k': over(passK),
      'pass@1 gained': gain,
      'pass@k gained': over((rate) => passK(rate + gain) - passK(rate)),
    }
    const held = new Map<string, number>()
    const count = (name: string, truth: number, interval: readonly [number, number] | null | undefined) => {
      if (interval && interval[0] <= truth && truth <= interval[1]) held.set(name, (held.get(name) ?? 0) + 1)
    }
    for (let seed = 0; seed < 100; seed++) {
      const random = seeded(seed * 7919 + 1)
      const rates = Array.from({ length: rows }, () => levels[Math.floor(random() * levels.length)] ?? 0)
      const base = simulated(rates, n, random)
      const trained = simulated(
        rates.map((rate) => rate + gain),
        n,
        random,
      )
      const [part] = compared([base, trained], k, seed)
      const [own, gap] = [part?.policies[0]?.figures, part?.differences[0]?.figures]
      count('pass@1', truths['pass@1'], own?.pass1.interval)
      count('pass@k', truths['pass@k'], own?.passK.interval)
      count('pass@1 gained', truths['pass@1 gained'], gap?.pass1.interval)
      count('pass@k gained', truths['pass@k gained'], gap?.passK.interval)
      const ownRows = rates.reduce((sum, rate) => sum + rate, 0) / rows
      count('pass@1 of these very rows', ownRows, own?.mean.interval)
      count('gain on these very rows', gain, gap?.mean.interval)
    }
    t.equal(held.size, 6)
    for (const [name, times] of held) t.ok(times >= 90, `${name}: ${times} of 100`)
  },
)

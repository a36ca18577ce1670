import t from 'tap'
import { drained } from '../../../src/core/slices.ts'
import {
  comparisonsOf,
  type Match,
  pairsOf,
  rankingsOf as rankingsInSlices,
} from '../../../src/scoring/engine/groups/ranking.ts'
import type { Vote } from '../../../src/scoring/engine/judge/votes.ts'
import {
  aggregateVotes,
  collectVotes,
  expectedScore,
  votesToSettle,
} from '../../../src/scoring/engine/judge/votes.ts'
import type { Votes } from '../../../src/scoring/plan/plan.ts'
import { kendallTau } from '../../support/kendall.ts'
import { seeded } from '../../support/seeded.ts'

const rankingsOf = (...given: Parameters<typeof rankingsInSlices>) => drained(rankingsInSlices(...given))

const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31))
t.comment(`SEED=${seed}`)

const all = { scheme: 'all', neighbours: 1 } as const
const wins = (...pairs: readonly (readonly [number, number])[]): Match[] =>
  pairs.map(([first, second]) => ({ first, second, probability: 1 }))

t.test('a scheme lists each pair once and shows every answer first about as often as second', async (t) => {
  for (let count = 2; count <= 17; count++) {
    for (const neighbours of [1, 2, 3, 64]) {
      for (const scheme of ['all', 'ring'] as const) {
        const pairs = pairsOf(count, { scheme, neighbours })
        const names = pairs.map(({ first, second }) => [first, second].sort((a, b) => a - b).join('-'))
        t.equal(new Set(names).size, pairs.length, `${scheme} ${neighbours} of ${count}: none twice`)
        t.ok(pairs.every(({ first, second }) => first !== second))
        const reach = scheme === 'all' ? count : neighbours
        const most = (count * (count - 1)) / 2
        t.equal(pairs.length, Math.min(most, count === 2 ? 1 : count * reach))
        t.equal(comparisonsOf(count, { scheme, neighbours }), pairs.length)
        const lead = Array.from({ length: count }, (_, index) =>
          pairs.reduce(
            (sum, { first, second }) => sum + Number(first === index) - Number(second === index),
            0,
          ),
        )
        t.ok(lead.every((extra) => Math.abs(extra) <= 1))
      }
    }
  }
})

t.test(
  'with a judge that errs in 10 % of replies, 8 answers rank with Kendall tau of at least 0.9',
  async (t) => {
    const random = seeded(seed)
    const tau = (aggregate: 'bradley_terry' | 'mean_wins', rounds = 1000): number => {
      let sum = 0
      for (let round = 0; round < rounds; round++) {
        const worth = Array.from({ length: 8 }, random)
        const reply = (first: number, second: number): number => {
          const isBetter = (worth[first] ?? 0) > (worth[second] ?? 0)
          return Number(random() < 0.1 ? !isBetter : isBetter)
        }
        const matches = pairsOf(8, all).map(({ first, second }) => ({
          first,
          second,
          probability: (reply(first, second) + 1 - reply(second, first)) / 2,
        }))
        const shares = rankingsOf(8, matches, aggregate).map((ranking) => ranking?.share ?? Number.NaN)
        sum += kendallTau(worth, shares)
      }
      return sum / rounds
    }
    for (const aggregate of ['bradley_terry', 'mean_wins'] as const) {
      const found = tau(aggregate)
      t.ok(found >= 0.9, `${aggregate}: ${found.toFixed(3)}`)
    }
  },
)

t.test('a share of wins is the observed one, or the one expected from fitted strengths', async (t) => {
  const matches = wins([0, 1], [1, 2], [0, 2])
  t.strictSame(rankingsOf(3, matches, 'mean_wins'), [
    { share: 1, strength: null },
    { share: 0.5, strength: null },
    { share: 0, strength: null },
  ])
  const [best, middle, worst] = rankingsOf(3, matches, 'bradley_terry')
  t.ok((best?.share ?? 0) > 0.95 && (worst?.share ?? 1) < 0.05)
  t.ok(Math.abs((middle?.share ?? 0) - 0.5) < 1e-9)
  t.ok((best?.strength ?? 0) > (middle?.strength ?? 0))
})

t.test('an answer that no chain of matches connects to the majority is not ranked', async (t) => {
  const holds = (count: number, matches: Match[]) =>
    rankingsOf(count, matches, 'bradley_terry').map((ranking) => ranking !== null)
  t.strictSame(holds(5, wins([0, 1], [1, 2], [3, 4])), [true, true, true, false, false])
  t.strictSame(holds(4, wins([0, 1], [2, 3])), [false, false, false, false], 'of two halves neither counts')
  t.strictSame(holds(3, wins([0, 2])), [true, false, true])
  t.strictSame(holds(2, []), [false, false])
})

/** The result of each vote: a number, null for an unreadable text, 'failed' for a failed call. */
type Fate = number | null | 'failed'

const failure = { kind: 'judge_unreachable', retryable: true, detail: '' } as const

const voteOf = (fate: Fate): Vote =>
  fate === 'failed'
    ? { model: 'm', status: 'failed', failure }
    : { model: 'm', status: 'read', verdicts: [fate === null ? null : { value: fate }] }

async function judged(fates: readonly Fate[], votes: Votes) {
  let made = 0
  const step = { votes, onUnreadable: 'fail', models: ['m'] } as const
  const draws = fates.map((fate) => async () => {
    made += 1
    return voteOf(fate)
  })
  const opinion = aggregateVotes(step, await collectVotes(step, draws, 1), 0, fates.length)
  return { made, value: opinion.status === 'scored' ? opinion.score.value : opinion.status }
}

t.test('stopping early never changes the aggregate, whatever the votes are', async (t) => {
  const random = seeded(seed)
  let saved = 0
  for (let round = 0; round < 3000; round++) {
    const n = 1 + Math.floor(random() * 9)
    const trouble = random() * 0.5
    const kinds = 1 + Math.floor(random() * 3)
    const fates = Array.from({ length: n }, (): Fate => {
      const drawn = random()
      if (drawn < trouble / 2) return null
      return drawn < trouble ? 'failed' : Math.floor(random() * kinds)
    })
    const aggregate =
      (['median', 'lower_median', 'majority', 'quorum'] as const)[Math.floor(random() * 4)] ?? 'median'
    const votes = { n, aggregate, min: 1 + Math.floor(random() * n), earlyStop: false }
    const whole = await judged(fates, votes)
    const early = await judged(fates, { ...votes, earlyStop: true })
    saved += whole.made - early.made
    if (early.value !== whole.value || early.made > n)
      t.strictSame(early, whole, `${JSON.stringify(votes)} ${JSON.stringify(fates)}`)
  }
  t.ok(saved > 1000, `${saved} draws saved`)
})

t.test('a failed vote is never a number, and too few votes never count as enough', async (t) => {
  const votes = (n: number, aggregate: Votes['aggregate'] = 'mean', min = 1) => ({
    n,
    aggregate,
    min,
    earlyStop: false,
  })
  for (const onUnreadable of ['fail', 'skip', 0.25] as const) {
    const said = (fates: readonly Fate[], of: Votes) =>
      aggregateVotes({ votes: of, onUnreadable, models: ['m'] }, fates.map(voteOf), 0, fates.length)
    t.match(said(['failed'], votes(1)), { status: 'failed', failure }, `${onUnreadable}`)
    t.match(said(['failed', null], votes(2, 'mean', 2)), { status: 'failed', failure }, `${onUnreadable}`)
  }
  t.equal((await judged([1, 'failed', 'failed'], votes(3, 'median', 2))).value, 'failed')
  t.equal((await judged([1, 1, 'failed', 'failed'], votes(4, 'quorum'))).value, 'failed', 'two of four')
  t.equal((await judged([1, 1, 'failed', 'failed'], votes(4, 'majority'))).value, 1)
  t.equal((await judged([1, 1, null, 1, null], votes(5, 'quorum'))).value, 1)
})

t.test('an expected score averages readable replies if they hold most of the probability', async (t) => {
  const reply = (label: string, probability: number, value: number | null) => ({
    label,
    probability,
    score: value === null ? null : { value, parts: { p: 2 * value } },
  })
  t.equal(expectedScore([reply('1', 0.5, 1), reply('?', 0.5, null)]), null)
  t.match(expectedScore([reply('1', 0.3, 1), reply('0', 0.3, 0), reply('?', 0.4, null)]), {
    value: 0.5,
    parts: { p: 1 },
  })
  t.equal(expectedScore([]), null)
})

t.test('no vote is cast before it is certain to be needed', async (t) => {
  const cases: readonly (readonly [Votes['aggregate'], readonly Fate[], number])[] = [
    ['majority', [1, 1, 1, 0, 0], 3],
    ['majority', [1, 0, 1, 1, 0], 4],
    ['majority', [1, 0, 1, 0, 1], 5],
    ['quorum', [1, 1, 1, 0, 0], 3],
    // Three of five can agree no more.
    ['quorum', ['failed', 'failed', 'failed', 1, 1], 3],
    ['median', [2, 2, 2, 9, 0], 3],
    ['median', [1, 2, 3, 4, 5], 5],
    ['lower_median', [2, 2, 2, 9, 0], 3],
    ['lower_median', [1, 2, 3, 4], 4],
  ]
  for (const [aggregate, fates, needed] of cases) {
    const { made } = await judged(fates, { n: fates.length, aggregate, min: 1, earlyStop: true })
    t.equal(made, needed, `${aggregate} of ${fates}`)
  }
  t.equal(votesToSettle([1, 1], 1, 3, { aggregate: 'mean', min: 1 }), 1, 'every draw changes a mean')
})

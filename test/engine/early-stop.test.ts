import t from 'tap'
import type { Drawn } from '../../src/engine/draw.ts'
import { drawsToSettle } from '../../src/engine/early-stop.ts'
import { drawAll, opinionOf } from '../../src/engine/opinion.ts'
import type { Votes } from '../../src/plan/plan.ts'
import { seeded } from '../support/seeded.ts'

const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31))
t.comment(`SEED=${seed}`)

/** What each draw would give: a number, null for an unreadable text, 'failed' for a failed call. */
type Fate = number | null | 'failed'

const failure = { kind: 'judge_unreachable', retryable: true, detail: '' } as const

const drawnOf = (fate: Fate): Drawn =>
  fate === 'failed'
    ? { model: 'm', status: 'failed', failure }
    : { model: 'm', status: 'read', verdicts: [fate === null ? null : { value: fate }] }

async function judged(fates: readonly Fate[], votes: Votes) {
  let made = 0
  const step = { votes, onUnreadable: 'fail', models: ['m'] } as const
  const draws = fates.map((fate) => async () => {
    made += 1
    return drawnOf(fate)
  })
  const opinion = opinionOf(step, await drawAll(step, draws, 1), 0, fates.length)
  return { made, value: opinion.status === 'scored' ? opinion.score.value : opinion.status }
}

t.test('stopping early never changes the aggregate, whatever the draws say', async (t) => {
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
    const aggregate = (['median', 'majority', 'quorum'] as const)[Math.floor(random() * 3)] ?? 'median'
    const votes = { n, aggregate, min: 1 + Math.floor(random() * n), earlyStop: false }
    const whole = await judged(fates, votes)
    const early = await judged(fates, { ...votes, earlyStop: true })
    saved += whole.made - early.made
    if (early.value !== whole.value || early.made > n)
      t.strictSame(early, whole, `${JSON.stringify(votes)} ${JSON.stringify(fates)}`)
  }
  t.ok(saved > 1000, `${saved} draws saved`)
})

t.test('no draw is asked for that could turn out unneeded', async (t) => {
  const votes = (n: number, aggregate: Votes['aggregate']) => ({ n, aggregate, min: 1, earlyStop: true })
  const made = async (fates: Fate[], aggregate: Votes['aggregate']) =>
    (await judged(fates, votes(fates.length, aggregate))).made
  t.equal(await made([1, 1, 1, 0, 0], 'majority'), 3)
  t.equal(await made([1, 0, 1, 1, 0], 'majority'), 4)
  t.equal(await made([1, 0, 1, 0, 1], 'majority'), 5)
  t.equal(await made([1, 1, 1, 0, 0], 'quorum'), 3)
  t.equal(await made(['failed', 'failed', 'failed', 1, 1], 'quorum'), 3, 'three of five can agree no more')
  t.equal(await made([2, 2, 2, 9, 0], 'median'), 3)
  t.equal(await made([1, 2, 3, 4, 5], 'median'), 5)
  t.equal(drawsToSettle([1, 1], 1, 3, { aggregate: 'mean', min: 1 }), 1, 'every draw changes a mean')
})

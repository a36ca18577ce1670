import t from 'tap'
import { majorityAnswer, passAtK, passesAmongFirst } from '../../src/statistics/pass-at-k.ts'
import { seeded } from '../support/seeded.ts'

t.test('pass@k is the share of draws of k that hold a right answer', async (t) => {
  t.equal(passAtK(4, 0, 2), 0)
  t.equal(passAtK(4, 3, 2), 1)
  t.ok(Math.abs(passAtK(4, 1, 2) - 1 / 2) < 1e-12)
  t.ok(Math.abs(passAtK(5, 2, 3) - 9 / 10) < 1e-12)
})

t.test('pass@1 is the share of right answers, and pass@n says whether there is any', async (t) => {
  const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31))
  t.comment(`SEED=${seed}`)
  const random = seeded(seed)
  for (let round = 0; round < 200; round++) {
    const n = 1 + Math.floor(random() * 64)
    const c = Math.floor(random() * (n + 1))
    t.ok(Math.abs(passAtK(n, c, 1) - c / n) < 1e-12, `n ${n}, c ${c}`)
    t.equal(passAtK(n, c, n), c > 0 ? 1 : 0)
  }
})

t.test('the first k answers and their majority', async (t) => {
  t.notOk(passesAmongFirst([false, false, true], 2))
  t.ok(passesAmongFirst([false, false, true], 3))
  t.equal(majorityAnswer(['a', 'b', 'b', 'a', 'a'], 4), 0, 'a tie goes to what was met first')
  t.equal(majorityAnswer(['a', 'b', 'b', 'a', 'a'], 3), 1)
  t.equal(majorityAnswer([], 3), -1)
})

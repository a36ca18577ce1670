import t from 'tap'
import { freePorts } from '../support/free-ports.ts'
import { atMost, told, worstOf } from './bounds.ts'
import { playVirtualDay } from './virtual-day.ts'

t.test('a step of a day in virtual time: each row has one right reward, whatever goes wrong', async (t) => {
  const seed = Number(process.env.SEED ?? 1 + Math.floor(Math.random() * 1e6))
  t.comment(`SEED=${seed}`)
  const [port = 0] = await freePorts(100)
  const { verdicts, rows } = await playVirtualDay({ steps: 1, rows: 1024, seed, port })
  t.ok(rows > 700, `${rows} rows`)
  for (const { what, bound, measured, holds } of verdicts)
    t.not(holds, false, `${what}: ${bound}, ${measured}`)
})

t.test('a line of a day holds only if it was judged in each step, and fails with one of them', async (t) => {
  const [low, high] = [atMost('questions', 1, 1.1, ' times'), atMost('questions', 1.2, 1.1, ' times')]
  const ofDay = (...steps: readonly (typeof low)[]) => worstOf(steps.map((verdict) => [verdict]))[0]
  t.match(ofDay(low, low), { holds: true, value: 1 })
  t.match(ofDay(low, told(high), low), { holds: null, value: 1.2, measured: /step 2$/ })
  t.match(ofDay(low, high, told(low)), { holds: false, value: 1.2 })
})

import t from 'tap'
import { freePorts } from '../support/free-ports.ts'
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

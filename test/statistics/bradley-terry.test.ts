import { readFileSync } from 'node:fs'
import t from 'tap'
import { bradleyTerry, winProbability } from '../../src/statistics/bradley-terry.ts'
import { cpuMs } from '../support/cpu.ts'

interface Table {
  readonly count: number
  readonly comparisons: readonly (readonly [number, number, number, number])[]
  readonly strengths: readonly number[]
}

const tables = JSON.parse(readFileSync('test/fixtures/bradley-terry/tables.json', 'utf8')) as readonly Table[]

const fitted = ({ count, comparisons }: Pick<Table, 'count' | 'comparisons'>): number[] =>
  bradleyTerry(
    count,
    comparisons.map(([first, second, wins, losses]) => ({ first, second, wins, losses })),
  )

t.test('the strengths are those of the Python package choix within 1e-6, on 100 tables', async (t) => {
  t.equal(tables.length, 100)
  const distances = tables.map((table) =>
    Math.max(...fitted(table).map((strength, index) => Math.abs(strength - (table.strengths[index] ?? NaN)))),
  )
  t.ok(Math.max(...distances) < 1e-6, `farthest: ${Math.max(...distances)}`)
})

t.test('who is unbeaten stays finite, who was never compared is average', async (t) => {
  const [winner = 0, loser = 0, absent = NaN] = fitted({ count: 3, comparisons: [[0, 1, 1, 0]] })
  t.ok(winner > 1.6 && winner < 1.7, String(winner))
  t.ok(Math.abs(winner + loser) < 1e-9)
  t.equal(absent, 0)
  t.strictSame(fitted({ count: 0, comparisons: [] }), [])
  t.equal(winProbability(0, 0), 0.5)
  t.equal(winProbability(800, 0), 1)
})

t.test('fractions count, and a long ring or a large group is fitted soon', async (t) => {
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

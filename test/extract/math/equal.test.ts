import t from 'tap'
import { type Comparison, type Decision, equalMath, readMathTruth } from '../../../src/extract/math/index.ts'
import { mathPairs } from '../../support/math-pairs.ts'

const usual: Comparison = { precision: 6, strict: true, relationAsSet: false }

const compared = (truth: string, answer: string, how: Partial<Comparison> = {}): Decision | null => {
  const read = readMathTruth(truth)
  if (read === null) throw new Error(`no truth: ${truth}`)
  return equalMath(read, answer, { ...usual, ...how })
}

const pairs = mathPairs()

for (const section of new Set(pairs.map((pair) => pair.section))) {
  t.test(section, async (t) => {
    for (const { truth, answer, equal } of pairs.filter((pair) => pair.section === section)) {
      t.equal(compared(truth, answer) !== null, equal, `${truth} ${equal ? '==' : '!='} ${answer}`)
    }
  })
}

t.test('precision is the number of digits that a decimal must give', async (t) => {
  t.equal(compared('\\frac13', '0.33', { precision: 2 }), 'numeric')
  t.equal(compared('\\frac13', '0.34', { precision: 2 }), null)
})

t.test(
  'relations may stand for sets, and names of variables may be free, where one asks for it',
  async (t) => {
    t.equal(compared('(1,2)', '1 < x < 2', { relationAsSet: true }), 'exact')
    t.equal(compared('x = 3', 'y = 3', { strict: false }), 'exact')
  },
)

t.test('a form feed where \\f was eaten is repaired', async (t) => {
  t.equal(compared('\\frac74', '\frac{7}{4}'), 'exact')
})

t.test('the decision says how sure the equality is', async (t) => {
  t.equal(compared('x+1', 'x+1'), 'string')
  t.equal(compared('\\frac12', '0.5'), 'exact')
  t.equal(compared('x+1', '1+x'), 'algebra')
  t.equal(compared('\\sin^2 x+\\cos^2 x', '1'), 'numeric')
  t.equal(compared('(\\frac12, x+1)', '(0.5, 1+x)'), 'algebra', 'the least sure part counts')
})

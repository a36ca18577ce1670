import t from 'tap'
import gsm8kBoxed from '../../reward-functions/gsm8k-boxed.ts'
import { row, ruleContract, scored } from '../../src/contract/testing.ts'
import { nearLinear } from '../support/hostile.ts'

const work = 'Six crates of seven jars make 6 * 7 = 42 jars.\n'

ruleContract(t, gsm8kBoxed, {
  full: { response: `${work}\\boxed{42}`, groundTruth: '42' },
  zero: { response: 'I do not know.', groundTruth: '42' },
  malformed: { response: `${work}\\boxed{`, groundTruth: '42' },
  hacks: {
    'two boxes': { response: `${work}\\boxed{41} \\boxed{42}`, groundTruth: '42' },
    'a box and a marker that differ': { response: `${work}\\boxed{42}\n#### 41`, groundTruth: '42' },
    'an unboxed last number': { response: `${work}\\boxed{41} or 42`, groundTruth: '42' },
    'a sentence without a mark': { response: `${work}The answer is 42`, groundTruth: '42' },
  },
})

const value = (response: string, options = {}): number | undefined =>
  scored(gsm8kBoxed, { response, groundTruth: '42', options })?.value

t.test('a box counts where no marker does', async (t) => {
  t.equal(value(`${work}\\boxed{$42.0}`), 1)
  t.equal(value(`${work}\\boxed{ \\$42 }`), 1)
  t.equal(value(`${work}\\boxed{41}\n#### 42`), 1)
  t.equal(value(`${work}\\boxed{41} no, \\boxed{42}`), 1)
  t.equal(value(`${work}\\boxed{41}`), 0.1)
  t.equal(value(`${work}\\boxed{x} = 42`), 0.8)
  t.throws(() => row(gsm8kBoxed, { groundTruth: 'x' }))
})

t.test('reference mode also reads sentences, the first one first', async (t) => {
  const reference = { mode: 'reference' }
  t.equal(value('subtotal is **42', reference), 1)
  t.equal(value('####\n42', reference), 1)
  t.equal(value('\\boxed{42}', reference), 1)
  t.equal(value('The answer is 9. Therefore the answer is 42.', reference), 0.8)
  t.equal(value('result = 9', reference), 0.1)
  t.equal(value('9', reference), 0.05)
  t.equal(value('.', reference), 0)
})

t.test('hostile text costs little', async (t) => {
  for (const mode of ['sound', 'reference']) nearLinear(t, (text) => value(`So\n${text}`, { mode }))
})

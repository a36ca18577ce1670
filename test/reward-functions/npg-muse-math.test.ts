import t from 'tap'
import npgMuseMath from '../../reward-functions/npg-muse-math.ts'
import { type RowParts, row, ruleContract, scored } from '../../src/contract/testing.ts'
import { nearLinear } from '../support/hostile.ts'

const thought = '<think>\nHalf of it.\n</think>\n'
const loop = 'Wait, let me recheck once more. '.repeat(6)
const answer = (response: string, groundTruth = '\\frac{1}{2}', options = {}): RowParts => ({
  response,
  groundTruth,
  options,
})

ruleContract(t, npgMuseMath, {
  full: answer(`${thought}So $\\boxed{\\dfrac12}$.`),
  zero: answer(`${loop}So $\\boxed{2}$.`),
  malformed: answer(`${thought}So $\\boxed{\\frac12$.`),
  hacks: {
    'right only while thinking': answer('<think>\n\\boxed{\\frac12}</think> I pass'),
    'an opening tag for a thought': answer('<think>\n</think>\\boxed{\\frac12}'),
    'a loop': answer(`${thought}${loop}\\boxed{\\frac12}`),
    'no answer to an empty one': answer(`${thought}\\boxed{}`),
  },
})

t.test('parts are reported apart', async (t) => {
  t.match(scored(npgMuseMath, answer(`${thought}${loop}\\boxed{0.5}`)), {
    value: 2,
    parts: { outcome_score: 1, format_score: 1, repeat_score: 1 },
    details: { extracted: '0.5' },
  })
  t.match(scored(npgMuseMath, answer('none')), { value: 0, details: { extracted: null, reason: 'no_box' } })
  t.match(scored(npgMuseMath, answer('<think>\n\\boxed{0.5}')), { value: 0 })
  t.throws(() => row(npgMuseMath, answer('', '')), 'an empty truth is refused')
})

t.test('reference mode keeps the faults of the original', async (t) => {
  const published = (response: string, truth: string) =>
    scored(npgMuseMath, answer(response, truth, { mode: 'reference' }))?.value
  t.equal(published('<think>\n\\boxed{}', ''), 3, 'nothing equals nothing')
  t.equal(published('\\boxed{\\sqrt}', '\\sqrt'), 2, 'texts without a spelling are compared as they stand')
  t.equal(published('<think>\n\\boxed{0.5}', '\\frac12'), 3, 'thinking is searched')
})

t.test('hostile text costs little', async (t) => {
  nearLinear(t, (text) => scored(npgMuseMath, answer(`\\boxed{${text}}`)))
})

import t from 'tap'
import exactMatch from '../../reward-functions/exact-match.ts'
import type { Json } from '../../src/contract/index.ts'
import { row, ruleContract, scored } from '../../src/contract/testing.ts'
import { nearLinear } from '../support/hostile.ts'

ruleContract(t, exactMatch, {
  options: { place: 'boxed', ignore: ['case'] },
  full: { response: 'So it is \\boxed{Paris}.', groundTruth: 'paris' },
  zero: { response: 'So it is \\boxed{London}.', groundTruth: 'paris' },
  malformed: { response: 'So it is \\boxed{Paris', groundTruth: 'paris' },
  hacks: {
    'two boxes': { response: '\\boxed{London} \\boxed{Paris}', groundTruth: 'paris' },
    'a box in the thinking only': { response: '<think>\\boxed{Paris}</think> I pass', groundTruth: 'paris' },
    'both in one box': { response: '\\boxed{London or Paris}', groundTruth: 'paris' },
  },
})

const value = (response: string, groundTruth: Json, options: Json = {}): number | undefined =>
  scored(exactMatch, { response, groundTruth, options })?.value

t.test('a text is compared by the chosen operation', async (t) => {
  t.equal(value('<think>London?</think>\nParis\n', 'Paris'), 1)
  t.equal(value('paris', 'Paris'), 0)
  t.equal(value('42', 42), 1)
  t.equal(value('Lyon', ['Paris', 'Lyon']), 1)
  t.equal(value('Lyon', 'Paris', { operation: 'ne' }), 1)
  t.equal(value('Paris', 'Paris', { operation: 'ne' }), 0)
  t.equal(value('I say Paris.', 'Paris', { operation: 'like' }), 1)
  t.equal(value('I say paris.', 'Paris', { operation: 'like' }), 0)
  t.equal(value('I say paris.', 'Paris', { operation: 'ilike' }), 1)
  t.equal(value('', 'Paris', { operation: 'ne' }), 0, 'no answer differs from nothing')
})

t.test('the answer is read where it is said to stand', async (t) => {
  const at = (place: string, response: string): number | undefined => value(response, 'Paris', { place })
  t.equal(at('tag', 'a<answer> Paris </answer>b'), 1)
  t.equal(at('tag', '<answer>Paris</answer><answer>Lyon</answer>'), 0)
  t.equal(at('hashes', 'so\n#### Paris\n'), 1)
  t.equal(at('hashes', '#### Lyon\n#### Paris'), 0)
  t.equal(at('last_line', 'so\nParis\n\n'), 1)
  t.equal(at('boxed', '\\boxed{Paris} = \\boxed{Paris}'), 1)
  t.equal(at('whole', '<think>Paris'), 0)
})

t.test('what is ignored does not count', async (t) => {
  const ignoring = (ignore: string[], response: string, truth: string): number | undefined =>
    value(response, truth, { ignore })
  t.equal(ignoring(['articles', 'case', 'space', 'punctuation'], 'The  Eiffel\nTower!', 'eiffel tower'), 1)
  t.equal(ignoring(['width'], 'Ｐａｒｉｓ', 'Paris'), 1)
  t.equal(ignoring([], 'The Eiffel Tower', 'Eiffel Tower'), 0)
  t.throws(() => row(exactMatch, { groundTruth: 'the', options: { ignore: ['articles'] } }))
  t.throws(() => row(exactMatch, { groundTruth: '' }))
})

t.test('hostile text costs little', async (t) => {
  const ignore = ['width', 'case', 'punctuation', 'articles', 'space']
  for (const place of ['whole', 'boxed', 'hashes', 'last_line', 'tag']) {
    nearLinear(t, (response) => value(response, 'Paris', { place, ignore }))
  }
})

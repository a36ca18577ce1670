import t from 'tap'
import searchEm from '../../reward-functions/search-em.ts'
import searchSubem from '../../reward-functions/search-subem.ts'
import type { Json, Rule } from '../../src/contract/index.ts'
import { row, ruleContract, scored } from '../../src/contract/testing.ts'
import { nearLinear } from '../support/hostile.ts'

const reference = { mode: 'reference' }
const paris = { target: ['Paris', 'City of Light'] }

const scoreOf = (rule: Rule<unknown, { mode: string }>, answer: string, truth: Json, options: Json = {}) =>
  scored(rule, { response: `<answer>${answer}</answer>`, groundTruth: truth, options })?.value
const em = (answer: string, truth: Json, options: Json = {}): number | undefined =>
  scoreOf(searchEm as never, answer, truth, options)
const subem = (answer: string, truth: Json, options: Json = {}): number | undefined =>
  scoreOf(searchSubem as never, answer, truth, options)

t.test('search-em wants the target and nothing else', async (t) => {
  ruleContract(t, searchEm, {
    full: { response: '<think>?</think><answer>the city of light.</answer>', groundTruth: paris },
    zero: { response: 'Paris', groundTruth: paris },
    malformed: { response: '<answer>Paris', groundTruth: paris },
    hacks: {
      'right only while thinking': { response: '<think><answer>Paris</answer></think>', groundTruth: paris },
      'thinking without an end': { response: '<think><answer>Paris</answer>', groundTruth: paris },
      'every candidate': { response: '<answer>Paris London Rome</answer>', groundTruth: paris },
      'a spray of tags': { response: '<answer>Paris</answer>'.repeat(11), groundTruth: paris },
    },
  })
  t.equal(em('C', { target: 'C++' }), 0)
  t.equal(em('C', { target: 'C++' }, reference), 1)
  t.equal(em('the', { target: 'an' }, reference), 1)
  t.equal(em('Rome', paris, { format_score: 0.1, score: 2 }), 0.1)
  t.equal(em('Paris', paris, { format_score: 0.1, score: 2 }), 2)
  t.equal(em('the', { target: 'an' }), 0, 'what normalises to nothing never matches')
  for (const truth of [null, {}, { target: [] }, { target: [5] }]) {
    t.throws(() => row(searchEm, { groundTruth: truth }))
  }
  t.throws(() => em('x', { target: null }, reference))
  t.equal(scored(searchEm, { response: 'x', groundTruth: null, options: reference })?.value, 0)
})

t.test('search-subem allows a few words beside the target', async (t) => {
  ruleContract(t, searchSubem, {
    full: { response: '<answer>It is Paris.</answer>', groundTruth: paris },
    zero: { response: 'Paris', groundTruth: paris },
    malformed: { response: '<answer>Paris', groundTruth: paris },
    hacks: {
      'every candidate': { response: '<answer>Paris London Rome Berlin Madrid</answer>', groundTruth: paris },
      'inside another word': { response: '<answer>comparison</answer>', groundTruth: paris },
      'right only while thinking': { response: '<think><answer>Paris</answer></think>', groundTruth: paris },
    },
  })
  t.equal(subem('是巴黎市', { target: '巴黎' }), 1, 'scripts without spaces')
  t.equal(subem(`巴黎${'很'.repeat(9)}`, { target: '巴黎' }), 0)
  t.equal(subem('comparison', { target: 'Paris' }, reference), 1)
  t.equal(subem('Paris', { target: 'the' }), 0)
  t.equal(subem('Parisian', { target: 'Paris' }, reference), 1)
  t.equal(subem('Rome', paris, { format_score: 0.2 }), 0.2)
  t.throws(() => subem('x', {}, reference))
})

t.test('hostile text costs little', async (t) => {
  for (const mode of ['sound', 'reference']) {
    nearLinear(t, (text) => {
      em(text, paris, { mode })
      subem(text, paris, { mode })
    })
  }
})

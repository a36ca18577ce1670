import t from 'tap'
import exactMatch from '../../reward-functions/exact-match.ts'
import regexMatch from '../../reward-functions/regex-match.ts'
import searchEm from '../../reward-functions/search-em.ts'
import searchSubem from '../../reward-functions/search-subem.ts'
import type { Json } from '../../src/contract/index.ts'
import { row, ruleContract, scored } from '../../src/contract/testing.ts'
import { eachNearLinear } from '../support/hostile.ts'
import { modes, valueBy } from '../support/rules.ts'

const published = { mode: 'published' }
const paris = { target: ['Paris', 'City of Light'] }

type Options = { [name: string]: Json }

const exact = valueBy(exactMatch)
const matched = (response: string, options: Options, groundTruth: Json = null) =>
  valueBy(regexMatch)(response, groundTruth, options)
const em = (answer: string, truth: Json, options: Options = {}) =>
  valueBy(searchEm)(`<answer>${answer}</answer>`, truth, options)
const subem = (answer: string, truth: Json, options: Options = {}) =>
  valueBy(searchSubem)(`<answer>${answer}</answer>`, truth, options)

t.test('exact-match keeps its contract', async (t) => {
  ruleContract(t, exactMatch, {
    options: { place: 'boxed', ignore: ['case'] },
    full: { response: 'So it is \\boxed{Paris}.', groundTruth: 'paris' },
    zero: { response: 'So it is \\boxed{London}.', groundTruth: 'paris' },
    malformed: { response: 'So it is \\boxed{Paris', groundTruth: 'paris' },
    hacks: {
      'two boxes': { response: '\\boxed{London} \\boxed{Paris}', groundTruth: 'paris' },
      'a box in the thinking only': {
        response: '<think>\\boxed{Paris}</think> I pass',
        groundTruth: 'paris',
      },
      'both in one box': { response: '\\boxed{London or Paris}', groundTruth: 'paris' },
    },
  })
})

t.test('exact-match: a text is compared by the chosen operation', async (t) => {
  const cases: [string, Json, string | undefined, number][] = [
    ['<think>London?</think>\nParis\n', 'Paris', undefined, 1],
    ['paris', 'Paris', undefined, 0],
    ['42', 42, undefined, 1],
    ['Lyon', ['Paris', 'Lyon'], undefined, 1],
    ['Lyon', 'Paris', 'ne', 1],
    ['Paris', 'Paris', 'ne', 0],
    ['I say Paris.', 'Paris', 'like', 1],
    ['I say paris.', 'Paris', 'like', 0],
    ['I say paris.', 'Paris', 'ilike', 1],
    ['', 'Paris', 'ne', 0], // no answer differs from nothing
  ]
  for (const [response, truth, operation, wanted] of cases)
    t.equal(
      exact(response, truth, operation ? { operation } : {}),
      wanted,
      `${response} ${operation ?? 'eq'}`,
    )
})

t.test('exact-match: the answer is read where it is said to stand', async (t) => {
  const at = (place: string, response: string): number | undefined => exact(response, 'Paris', { place })
  t.equal(at('tag', 'a<answer> Paris </answer>b'), 1)
  t.equal(at('tag', '<answer>Paris</answer><answer>Lyon</answer>'), 0)
  for (const text of ['**Paris**', '`Paris`', '*Paris*', '\\text{Paris}', '__Paris__'])
    t.equal(at('tag', `<answer>${text}</answer>`), 1, text)
  for (const text of [
    '<answer>Paris</answer>\nI spoke too soon.',
    'I have no idea, so here is filler:\n<answer>Paris</answer>',
    '<answer>Paris</answer>\nNew: Lyon',
  ])
    t.equal(at('tag', text), 0, text)
  t.equal(at('hashes', 'so\n#### Paris\n'), 1)
  t.equal(at('hashes', '#### Lyon\n#### Paris'), 0)
  t.equal(at('last_line', 'so\nParis\n\n'), 1)
  t.equal(at('boxed', '\\boxed{Paris} = \\boxed{Paris}'), 1)
  t.equal(at('whole', '<think>Paris'), 0)
})

t.test('exact-match: what is ignored does not count', async (t) => {
  const ignoring = (ignore: string[], response: string, truth: string): number | undefined =>
    exact(response, truth, { ignore })
  t.equal(ignoring(['articles', 'case', 'space', 'punctuation'], 'The  Eiffel\nTower!', 'eiffel tower'), 1)
  t.equal(ignoring(['width'], 'Ｐａｒｉｓ', 'Paris'), 1)
  t.equal(ignoring([], 'The Eiffel Tower', 'Eiffel Tower'), 0)
  t.throws(() => row(exactMatch, { groundTruth: 'the', options: { ignore: ['articles'] } }))
  t.throws(() => row(exactMatch, { groundTruth: '' }))
})

t.test('regex-match keeps its contract', async (t) => {
  ruleContract(t, regexMatch, {
    options: { pattern: '[A-Z]{2}-[0-9]{4}' },
    full: { response: 'AB-1234' },
    zero: { response: 'ab-1234' },
    malformed: { response: '' },
    hacks: {
      'the code among others': { response: 'AB-1234 or CD-5678' },
      'right only while thinking': { response: '<think>AB-1234</think> I pass' },
    },
  })
})

t.test('regex-match: a pattern comes from the options or from the row', async (t) => {
  t.equal(matched('so ab', { pattern: 'AB', flags: 'i', whole: false }), 1)
  t.equal(matched('a\nb', { pattern: 'a.b', flags: 's' }), 1)
  t.equal(matched('a\nb', { pattern: '^b$', flags: 'm', whole: false }), 1)
  t.equal(matched('<answer>7</answer>', { place: 'tag' }, '[0-9]'), 1)
  t.equal(matched('x', {}, '[0-9]'), 0)
})

t.test('regex-match: a row without a pattern that can be used is rejected, not scored', async (t) => {
  t.throws(() => row(regexMatch, { groundTruth: '(' }))
  t.throws(() => row(regexMatch, { groundTruth: null }))
  t.throws(() => row(regexMatch, { options: { pattern: '(?=a)' } }), /invalid or unsupported/)
  t.throws(() => row(regexMatch, { options: { pattern: 'a', flags: 'g' } }))
})

t.test('regex-match: patterns do not stand in for each other, however many there are', async (t) => {
  const many = Array.from({ length: 300 }, (_, i) => `${i}`)
  t.strictSame(
    many.filter((text) => matched(text, { pattern: text }) !== 1),
    [],
  )
})

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
  t.equal(em('the', { target: 'an' }), 0, 'what normalises to nothing never matches')
})

t.test('search-em: the credit for a right and for a readable answer may be set', async (t) => {
  t.equal(em('Rome', paris, { format_score: 0.1, score: 2 }), 0.1)
  t.equal(em('Paris', paris, { format_score: 0.1, score: 2 }), 2)
})

t.test('search-em: a row without a target is rejected, not scored', async (t) => {
  for (const truth of [null, {}, { target: [] }, { target: [5] }])
    t.throws(() => row(searchEm, { groundTruth: truth }), JSON.stringify(truth))
})

t.test('search-em: published mode keeps the faults of the original', async (t) => {
  t.equal(em('C', { target: 'C++' }, published), 1)
  t.equal(em('the', { target: 'an' }, published), 1)
  t.throws(() => em('x', { target: null }, published))
  t.equal(scored(searchEm, { response: 'x', groundTruth: null, options: published })?.value, 0)
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
  t.equal(subem('comparison', { target: 'Paris' }, published), 1)
  t.equal(subem('Paris', { target: 'the' }), 0)
  t.equal(subem('Parisian', { target: 'Paris' }, published), 1)
  t.equal(subem('Rome', paris, { format_score: 0.2 }), 0.2)
  t.throws(() => subem('x', {}, published))
})

t.test('hostile text costs little, whatever the pattern', async (t) => {
  const ignore = ['width', 'case', 'punctuation', 'articles', 'space']
  for (const place of ['whole', 'boxed', 'hashes', 'last_line', 'tag'])
    eachNearLinear(t, { [`exact-match, ${place}`]: (text) => exact(text, 'Paris', { place, ignore }) })
  for (const pattern of ['(a+)+b', '(.*,)*x', '(x|xx)*y'])
    eachNearLinear(t, { [`regex-match, ${pattern}`]: (text) => matched(text, { pattern }) })
  for (const mode of modes)
    eachNearLinear(t, {
      [`search, ${mode}`]: (text) => [em(text, paris, { mode }), subem(text, paris, { mode })],
    })
})

import t from 'tap'
import regexMatch from '../../reward-functions/regex-match.ts'
import type { Json } from '../../src/contract/index.ts'
import { row, ruleContract, scored } from '../../src/contract/testing.ts'
import { nearLinear } from '../support/hostile.ts'

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

const value = (response: string, options: Json, groundTruth: Json = null): number | undefined =>
  scored(regexMatch, { response, groundTruth, options })?.value

t.test('a pattern comes from the options or from the row', async (t) => {
  t.equal(value('so ab', { pattern: 'AB', flags: 'i', whole: false }), 1)
  t.equal(value('a\nb', { pattern: 'a.b', flags: 's' }), 1)
  t.equal(value('a\nb', { pattern: '^b$', flags: 'm', whole: false }), 1)
  t.equal(value('<answer>7</answer>', { place: 'tag' }, '[0-9]'), 1)
  t.equal(value('x', {}, '[0-9]'), 0)
  t.throws(() => row(regexMatch, { groundTruth: '(' }), 'a row without a pattern is rejected')
  t.throws(() => row(regexMatch, { groundTruth: null }))
  t.throws(() => row(regexMatch, { options: { pattern: '(?=a)' } }), /invalid or unsupported/)
  t.throws(() => row(regexMatch, { options: { pattern: 'a', flags: 'g' } }))
  for (let i = 0; i < 300; i++) t.equal(value(`${i}`, { pattern: `${i}` }), 1)
})

t.test('hostile text costs little, whatever the pattern', async (t) => {
  for (const pattern of ['(a+)+b', '(.*,)*x', '(x|xx)*y']) nearLinear(t, (text) => value(text, { pattern }))
})

import t from 'tap'
import overlongPenalty from '../../reward-functions/overlong-penalty.ts'
import repetitionPenalty from '../../reward-functions/repetition-penalty.ts'
import { BadSample, type Json } from '../../src/contract/index.ts'
import { row, ruleContract, scored } from '../../src/contract/testing.ts'
import { repeatedShare, words } from '../../src/extract/index.ts'
import { nearLinear } from '../support/hostile.ts'

const lengths = { max_length: 100, buffer: 20 }
const long = (response_length: Json): { extraInfo: Record<string, Json> } => ({
  extraInfo: { response_length },
})

t.test('overlong-penalty keeps its contract', async (t) => {
  ruleContract(t, overlongPenalty, {
    options: lengths,
    full: long(80),
    zero: long(100),
    malformed: { response: 'a'.repeat(101), options: { ...lengths, unit: 'characters' } },
    hacks: {
      'a little over': long(81),
      'far over': long(100_000),
      'wide characters count too': {
        response: '\u{1f600}'.repeat(90),
        options: { ...lengths, unit: 'characters' },
      },
    },
  })
})

t.test("the penalty falls over the buffer, by DAPO's formula", async (t) => {
  const value = (length: number, factor = 1): number | undefined =>
    scored(overlongPenalty, { ...long(length), options: { ...lengths, penalty_factor: factor } })?.value
  t.equal(value(0), 0)
  t.equal(value(85), -0.25)
  t.equal(value(95, 2), -1.5)
  t.equal(value(101, 2), -2)
  const named = { ...lengths, length_field: 'tokens' }
  t.equal(scored(overlongPenalty, { extraInfo: { tokens: 90 }, options: named })?.value, -0.5)
})

t.test('a row without a length is no row without a penalty', async (t) => {
  t.throws(
    () => scored(overlongPenalty, { options: lengths }),
    new BadSample('extra_info.response_length holds no length in tokens; send it, or set unit: characters'),
  )
  t.throws(() => scored(overlongPenalty, { ...long('90'), options: lengths }))
  t.throws(() => scored(overlongPenalty, { ...long(-1), options: lengths }))
  t.throws(() => row(overlongPenalty, { options: { max_length: 10, buffer: 20 } }))
})

t.test('repetition-penalty keeps its contract', async (t) => {
  ruleContract(t, repetitionPenalty, {
    within: 0.01,
    full: { response: 'Six crates of seven jars make forty-two jars.' },
    zero: { response: 'wait '.repeat(1000) },
    malformed: { response: 'so so so so' },
    hacks: {
      'case does not hide a repetition': { response: 'Wait a bit. wait A bit. WAIT a BIT.' },
      'punctuation does not': { response: 'wait a bit, wait a bit; wait a bit' },
      'nor does a script without spaces': { response: '让我再检查一遍让我再检查一遍' },
    },
  })
})

t.test('the share of repeated n-grams is one minus the share of different ones', async (t) => {
  t.equal(repeatedShare(['a', 'b', 'a', 'b', 'a'], 2), 0.5)
  t.equal(repeatedShare(['a', 'b'], 3), 0)
  t.equal(repeatedShare([], 1), 0)
  t.equal(repeatedShare(['a', 'a'], 1), 0.5)
  t.strictSame(words("It's 42東京へ x_1"), ["it's", '42', '東', '京', 'へ', 'x_1'])
  const value = scored(repetitionPenalty, {
    response: 'a b a b a',
    options: { ngram: 2, max_penalty: -2 },
  })
  t.strictSame(value, { value: -1, details: { repeated_share: 0.5 } })
})

t.test('hostile text costs little', async (t) => {
  nearLinear(t, (response) => scored(repetitionPenalty, { response, options: { ngram: 20 } }))
  nearLinear(t, (response) =>
    scored(overlongPenalty, { response, options: { ...lengths, unit: 'characters' } }),
  )
})

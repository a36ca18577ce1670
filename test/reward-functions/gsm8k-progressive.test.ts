import t from 'tap'
import gsm8kProgressive from '../../reward-functions/gsm8k-progressive.ts'
import { row, ruleContract, scored } from '../../src/contract/testing.ts'
import { nearLinear } from '../support/hostile.ts'
import { seeded } from '../support/seeded.ts'

const work = 'Six crates of seven jars make 6 * 7 = 42 jars.\n'

ruleContract(t, gsm8kProgressive, {
  full: { response: `${work}#### 42`, groundTruth: '42' },
  zero: { response: 'I do not know.', groundTruth: '42' },
  malformed: { response: `${work}####`, groundTruth: '42' },
  hacks: {
    'right only while thinking': { response: '<think>so #### 42</think> I pass', groundTruth: '42' },
    'several answers': { response: 'One of\n#### 41\n#### 42\n#### 43', groundTruth: '42' },
    'another number after the marked one': { response: 'So\n#### 41\nor maybe 42', groundTruth: '42' },
    'a comma that parts no thousands': { response: `${work}#### 4,2`, groundTruth: '42' },
    'no work': { response: '#### 42', groundTruth: '42' },
    'a withdrawn answer': { response: `${work}#### 42\nNo, #### 41`, groundTruth: '42' },
    'an exponent': { response: `${work}#### 4.2e1`, groundTruth: '42' },
    'thinking without an end': { response: '<think>so\n#### 42', groundTruth: '42' },
  },
})

const value = (response: string, groundTruth: string | number | null, options = {}): number | undefined =>
  scored(gsm8kProgressive, { response, groundTruth, options })?.value

t.test('equal values are equal however they are written', async (t) => {
  const answers = [
    '$42',
    '42.',
    '**42**',
    '\\boxed{42}',
    '\\(42\\)',
    '４２',
    '+42',
    '42.00',
    '42 jars',
    '  42',
  ]
  for (const answer of answers) t.equal(value(`${work}#### ${answer}`, '42'), 1, answer)
  for (const truth of ['42.0', '$42', '€42', ' 42 ', 42, '+42']) {
    t.equal(value(`${work}####42`, truth), 1, `${truth}`)
  }
  t.equal(value(`${work}#### 1,042.50`, '1042.5'), 1)
  t.equal(value(`${work}#### -0`, '0'), 1)
})

t.test('credit falls with the place and the rightness of the number', async (t) => {
  t.equal(value(`${work}The answer is 42.`, '42'), 0.8)
  t.equal(value(`${work}The answer is 41.`, '42'), 0.05)
  t.equal(value(`${work}#### 41`, '42'), 0.1)
  t.equal(value(`${work}#### none`, '42'), 0)
  t.equal(value(`${work}So 50-42`, '42'), 0.8, 'a minus after a number is an operator')
  t.equal(value(`${work}So x = -42`, '-42'), 0.8)
  t.equal(value(`${work}So ...42`, '42'), 0.8)
  t.equal(value(`${work}Either 41,42`, '42'), 0.05)
})

t.test('a correction in words counts, a bare list of answers does not', async (t) => {
  t.equal(value(`${work}#### 41\nWait, I dropped one.\n#### 42`, '42'), 1)
  t.equal(value(`${work}#### 41\n\n#### 42`, '42'), 0.1)
  t.equal(value(`${work}#### 42\n#### 42.0`, '42'), 1)
})

t.test('the flexible variant pays for the right number and nothing else', async (t) => {
  const flexible = { variant: 'flexible' }
  t.equal(value(`${work}The answer is 42.`, '42', flexible), 1)
  t.equal(value(`${work}#### 42`, '42', flexible), 1)
  t.equal(value(`${work}#### 41`, '42', flexible), 0)
  t.equal(value('so #### 1 or 18.0', '18', { ...flexible, mode: 'reference' }), 1)
})

t.test('reference mode keeps the faults of the original', async (t) => {
  const reference = { mode: 'reference' }
  t.equal(value('#### 18\n#### 17', '18', reference), 1, 'the first marker counts')
  t.equal(value('#### 9\nor 18', '18', reference), 0.8, 'a wrong answer may hedge')
  t.equal(value('#### 1,8', '18', reference), 1)
  t.equal(value('#### ,', '18', reference), 0.1)
  t.equal(value('1', '18', reference), 0.05)
  t.equal(value('-.', '18', reference), 0)
  t.equal(value('', '18', reference), 0)
  t.equal(value('#### 18', 18, reference), 0.1, 'a truth that is no text never matches')
})

t.test('a score says what was read and why it is low', async (t) => {
  const details = (response: string): unknown =>
    scored(gsm8kProgressive, { response, groundTruth: '42' })?.details
  t.strictSame(details(`${work}#### 42`), { extracted: '42' })
  t.strictSame(details(`${work}#### 41`), { extracted: '41', reason: 'unequal' })
  t.strictSame(details('#### 42'), { reason: 'no_words' })
  t.strictSame(details(`${work}#### x`), { reason: 'no_number_after_marker' })
  t.strictSame(details('a\n#### 1\n#### 2'), { reason: 'contradiction' })
  t.strictSame(details('none'), { reason: 'no_number' })
  t.strictSame(details('<think>so'), { reason: 'thinking_unclosed' })
})

t.test('whatever is written, only the right number earns 0.8 or more', async (t) => {
  const pieces = [
    '#### ',
    '####',
    '41',
    '4,2',
    '42',
    '4',
    '2',
    ',',
    '.',
    ' ',
    '\n',
    'so ',
    '**',
    '-',
    '$',
    '\\boxed{',
    '}',
  ]
  const seed = 3
  const random = seeded(seed)
  const earned = new Map<number, number>()
  for (let round = 0; round < 3000; round++) {
    const text = Array.from(
      { length: 2 + 9 * random() },
      () => pieces[Math.floor(random() * pieces.length)],
    ).join('')
    const score = value(text, '42') ?? Number.NaN
    earned.set(score, (earned.get(score) ?? 0) + 1)
    if (score >= 0.8 && !/42/.test(text)) t.fail(`${JSON.stringify(text)} (seed ${seed}) earns ${score}`)
  }
  t.strictSame([...earned.keys()].sort(), [0, 0.05, 0.1, 0.8, 1], 'every level is reached, and no other')
})

t.test('a row without a number is rejected, not scored', async (t) => {
  t.throws(() => row(gsm8kProgressive, { groundTruth: 'none' }))
  t.throws(() => row(gsm8kProgressive, { groundTruth: null }))
  t.throws(() => row(gsm8kProgressive, { groundTruth: '42', options: { mod: 'sound' } }))
})

t.test('hostile text costs little', async (t) => {
  for (const mode of ['sound', 'reference']) {
    nearLinear(t, (response) => value(`So\n${response}`, '42', { mode }))
  }
})

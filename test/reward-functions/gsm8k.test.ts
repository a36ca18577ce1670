import t from 'tap'
import gsm8k from '../../reward-functions/gsm8k.ts'
import gsm8kBoxed from '../../reward-functions/gsm8k-boxed.ts'
import gsm8kProgressive from '../../reward-functions/gsm8k-progressive.ts'
import gsm8kStock from '../../reward-functions/gsm8k-stock.ts'
import { row, ruleContract, scored } from '../../src/contract/testing.ts'
import { eachNearLinear } from '../support/hostile.ts'
import { modes, valueBy } from '../support/rules.ts'
import { seeded } from '../support/seeded.ts'

const work = 'Six crates of seven jars make 6 * 7 = 42 jars.\n'

const marked = valueBy(gsm8k)
const progressive = valueBy(gsm8kProgressive)
const boxed = (response: string, options = {}) => valueBy(gsm8kBoxed)(response, '42', options)
const stock = valueBy(gsm8kStock)

t.test('gsm8k keeps its contract', async (t) => {
  ruleContract(t, gsm8k, {
    full: { response: `${work}#### 42`, groundTruth: '42' },
    zero: { response: `${work}So 42.`, groundTruth: '42' },
    malformed: { response: `${work}#### .`, groundTruth: '42' },
    hacks: {
      'no work': { response: '#### 42', groundTruth: '42' },
      'a marker without a number': { response: `${work}#### none`, groundTruth: '42' },
      'a comma that parts no thousands': { response: `${work}#### 4,2`, groundTruth: '42' },
      'two answers': { response: `${work}#### 41\n#### 42`, groundTruth: '42' },
      'right only while thinking': { response: '<think>so #### 42</think> I pass', groundTruth: '42' },
      'text after the answer': {
        response: `${work}#### 42\n${'𝟒 and so on '.repeat(40)}`,
        groundTruth: '42',
      },
    },
  })
})

t.test('gsm8k: equal values are equal, and only the last 300 code points may hold the answer', async (t) => {
  for (const answer of ['42', '**42**', '$42.00', '４２', '42.']) {
    t.equal(marked(`${work}#### ${answer}`, '42'), 1.1, answer)
  }
  t.equal(marked(`${work}####1,800`, '$1,800.0'), 1.1)
  t.equal(marked(`${work}#### 42${'\u{1f600}'.repeat(293)}`, '42'), 1.1, 'emoji count once')
  t.equal(marked(`${work}#### 42${'\u{1f600}'.repeat(294)}`, '42'), 0.1)
  t.equal(marked(`${work}#### 41`, 42), 0.1)
})

t.test('gsm8k: published mode keeps the faults of the original', async (t) => {
  const mode = 'published'
  const published = (response: string, dataSource = 'gsm8k', groundTruth = '18'): unknown =>
    scored(gsm8k, { response, groundTruth, dataSource, options: { mode } })?.value
  t.equal(published('#### 1,8'), 1.1)
  t.equal(published('#### 17\n#### 18'), 1.1)
  t.equal(published('#### .'), 0.1)
  t.equal(published('####18'), 0.05)
  t.equal(published('18'), 0)
  t.equal(published('#### 18', 'other'), 0)
  t.strictSame(scored(gsm8k, { groundTruth: null, options: { mode } }), {
    value: 0,
    details: { reason: 'other_data_source' },
  })
})

t.test('gsm8k: a score says why it is low', async (t) => {
  const reason = (response: string): unknown =>
    scored(gsm8k, { response, groundTruth: '42' })?.details?.reason
  t.equal(reason(`${work}#### 42`), undefined)
  t.equal(reason(`${work}#### 42${' '.repeat(300)}`), 'too_early')
  t.equal(reason(`${work}#### 41`), 'unequal')
  t.throws(() => row(gsm8k, { groundTruth: 'forty-two' }))
})

t.test('gsm8k-boxed keeps its contract', async (t) => {
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
})

t.test('gsm8k-boxed: a box counts where no marker does', async (t) => {
  t.equal(boxed(`${work}\\boxed{$42.0}`), 1)
  t.equal(boxed(`${work}\\boxed{ \\$42 }`), 1)
  t.equal(boxed(`${work}\\boxed{41}\n#### 42`), 0.1, 'a box and a mark that differ')
  t.equal(boxed(`${work}\\boxed{41} no, \\boxed{42}`), 1)
  t.equal(boxed(`${work}\\boxed{41}`), 0.1)
  t.equal(boxed(`${work}\\boxed{x} = 42`), 0.8)
  t.throws(() => row(gsm8kBoxed, { groundTruth: 'x' }))
})

t.test('gsm8k-boxed: published mode also reads sentences, the first one first', async (t) => {
  const published = { mode: 'published' }
  t.equal(boxed('subtotal is **42', published), 1)
  t.equal(boxed('####\n42', published), 1)
  t.equal(boxed('\\boxed{42}', published), 1)
  t.equal(boxed('The answer is 9. Therefore the answer is 42.', published), 0.8)
  t.equal(boxed('result = 9', published), 0.1)
  t.equal(boxed('9', published), 0.05)
  t.equal(boxed('.', published), 0)
})

t.test('gsm8k-progressive keeps its contract', async (t) => {
  ruleContract(t, gsm8kProgressive, {
    full: { response: `${work}#### 42`, groundTruth: '42' },
    zero: { response: 'I do not know.', groundTruth: '42' },
    malformed: { response: `${work}####`, groundTruth: '42' },
    hacks: {
      'right only while thinking': { response: '<think>so #### 42</think> I pass', groundTruth: '42' },
      'several answers': { response: 'One of\n#### 41\n#### 42\n#### 43', groundTruth: '42' },
      'another number after the marked one': { response: 'So\n#### 41\nor maybe 42', groundTruth: '42' },
      'a comma that parts no thousands': { response: `${work}#### 4,2`, groundTruth: '42' },
      'an exponent': { response: `${work}#### 4.2e1`, groundTruth: '42' },
      'no work': { response: '#### 42', groundTruth: '42' },
      'a withdrawn answer': { response: `${work}#### 42\nNo, #### 41`, groundTruth: '42' },
      'thinking without an end': { response: '<think>so\n#### 42', groundTruth: '42' },
    },
  })
})

t.test('gsm8k-progressive: equal values are equal however they are written', async (t) => {
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
  for (const answer of answers) t.equal(progressive(`${work}#### ${answer}`, '42'), 1, answer)
  for (const truth of ['42.0', '$42', '€42', ' 42 ', 42, '+42']) {
    t.equal(progressive(`${work}####42`, truth), 1, `${truth}`)
  }
  t.equal(progressive(`${work}#### 1,042.50`, '1042.5'), 1)
  t.equal(progressive(`${work}#### -0`, '0'), 1)
})

t.test('gsm8k-progressive: credit falls with the place and the rightness of the number', async (t) => {
  for (const [said, truth, credit] of [
    ['The answer is 42.', '42', 0.8],
    ['The answer is 41.', '42', 0.05],
    ['#### 41', '42', 0.1],
    ['#### none', '42', 0],
    ['So 50-42', '42', 0.05], // a range
    ['So x = -42', '-42', 0.8],
    ['So ... 42', '42', 0.8],
    ['Either 41,42', '42', 0.05],
  ] as const)
    t.equal(progressive(`${work}${said}`, truth), credit, said)
})

t.test('gsm8k-progressive: a correction in words counts, a bare list of answers does not', async (t) => {
  t.equal(progressive(`${work}#### 41\nWait, I dropped one.\n#### 42`, '42'), 1)
  t.equal(progressive(`${work}#### 41\n\n#### 42`, '42'), 0.1)
  t.equal(progressive(`${work}#### 42\n#### 42.0`, '42'), 1)
})

t.test('gsm8k-progressive: the flexible variant pays for the right number and nothing else', async (t) => {
  const flexible = { variant: 'flexible' }
  t.equal(progressive(`${work}The answer is 42.`, '42', flexible), 1)
  t.equal(progressive(`${work}#### 42`, '42', flexible), 1)
  t.equal(progressive(`${work}#### 41`, '42', flexible), 0)
  t.equal(progressive('so #### 1 or 18.0', '18', { ...flexible, mode: 'published' }), 1)
})

t.test('gsm8k-progressive: published mode keeps the faults of the original', async (t) => {
  for (const [response, truth, credit] of [
    ['#### 18\n#### 17', '18', 1], // the first marker counts
    ['#### 9\nor 18', '18', 0.8], // a wrong answer may hedge
    ['#### 1,8', '18', 1],
    ['#### ,', '18', 0.1],
    ['1', '18', 0.05],
    ['-.', '18', 0],
    ['', '18', 0],
    ['#### 18', 18, 0.1], // a truth that is no text never matches
  ] as const)
    t.equal(progressive(response, truth, { mode: 'published' }), credit, `${response} for ${truth}`)
})

t.test('gsm8k-progressive: a score says what was read and why it is low', async (t) => {
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

t.test('gsm8k-progressive: whatever is written, only the right number earns 0.8 or more', async (t) => {
  const pieces = '#### |####|41|4,2|42|4|2|,|.| |\n|so |**|-|$|\\boxed{|}'.split('|')
  const seed = 3
  const random = seeded(seed)
  const earned = new Map<number, number>()
  for (let round = 0; round < 3000 && (round < 1200 || earned.size < 5); round++) {
    const text = Array.from(
      { length: 2 + 9 * random() },
      () => pieces[Math.floor(random() * pieces.length)],
    ).join('')
    const score = progressive(text, '42') ?? Number.NaN
    earned.set(score, (earned.get(score) ?? 0) + 1)
    if (score >= 0.8 && !/42/.test(text)) t.fail(`${JSON.stringify(text)} (seed ${seed}) earns ${score}`)
  }
  t.strictSame([...earned.keys()].sort(), [0, 0.05, 0.1, 0.8, 1], 'every level is reached, and no other')
})

t.test('gsm8k-progressive: a row without a number is rejected, not scored', async (t) => {
  t.throws(() => row(gsm8kProgressive, { groundTruth: 'none' }))
  t.throws(() => row(gsm8kProgressive, { groundTruth: null }))
  t.throws(() => row(gsm8kProgressive, { groundTruth: '42', options: { mod: 'strict' } }))
})

t.test('gsm8k-stock keeps its contract', async (t) => {
  ruleContract(t, gsm8kStock, {
    full: { response: 'So 6 * 7.\n#### 42', groundTruth: '42' },
    zero: { response: 'I do not know.', groundTruth: '42' },
    malformed: { response: '####', groundTruth: '42' },
    hacks: {
      'right only while thinking': { response: '<think>#### 42</think> I pass', groundTruth: '42' },
      'several answers': { response: '#### 42\n#### 43', groundTruth: '42' },
      'thinking without an end': { response: '<think>#### 42', groundTruth: '42' },
    },
  })
})

t.test('gsm8k-stock: strict reads the mark, flexible the last number', async (t) => {
  t.equal(stock('#### $1,042.00', 1042), 1, 'equal values are equal')
  t.equal(stock('The answer is 42.', '42'), 0)
  t.equal(stock('The answer is 42.', '42', { method: 'flexible' }), 1)
  t.equal(stock('No number', '42', { method: 'flexible' }), 0)
})

t.test('gsm8k-stock: the credit for a right and for a readable answer may be set', async (t) => {
  t.equal(stock('#### 41', '42', { format_score: 0.1, score: 2 }), 0.1)
  t.equal(stock('#### 42', '42', { format_score: 0.1, score: 2 }), 2)
})

t.test('gsm8k-stock: published mode takes the first answer and the text as it stands', async (t) => {
  const published = { mode: 'published' }
  t.equal(stock('#### 42\n#### 41', '42', published), 1)
  t.equal(stock('#### 42.', '42', published), 0)
  t.equal(stock('so 42 .', '42', { ...published, method: 'flexible' }), 1)
  t.equal(stock('...', '42', { ...published, method: 'flexible' }), 0)
})

t.test('gsm8k-stock: a row without a number is rejected, not scored', async (t) => {
  t.throws(() => row(gsm8kStock, { groundTruth: 'none' }))
})

t.test('hostile text is scored in linear time', async (t) => {
  for (const mode of modes) {
    eachNearLinear(t, {
      [`gsm8k, ${mode}`]: (text) =>
        scored(gsm8k, { response: `So\n${text}`, groundTruth: '42', dataSource: 'gsm8k', options: { mode } }),
      [`gsm8k-boxed, ${mode}`]: (text) => boxed(`So\n${text}`, { mode }),
      [`gsm8k-progressive, ${mode}`]: (text) => progressive(`So\n${text}`, '42', { mode }),
      [`gsm8k-stock, ${mode}, strict`]: (text) => stock(text, '42', { mode, method: 'strict' }),
      [`gsm8k-stock, ${mode}, flexible`]: (text) => stock(text, '42', { mode, method: 'flexible' }),
    })
  }
})

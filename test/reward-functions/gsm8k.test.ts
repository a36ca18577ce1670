import t from 'tap'
import gsm8k from '../../reward-functions/gsm8k.ts'
import { row, ruleContract, scored } from '../../src/contract/testing.ts'
import { nearLinear } from '../support/hostile.ts'

const work = 'Six crates of seven jars make 6 * 7 = 42 jars.\n'

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
    'text after the answer': { response: `${work}#### 42\n${'𝟒 and so on '.repeat(40)}`, groundTruth: '42' },
  },
})

const value = (response: string, groundTruth: string | number, options = {}): number | undefined =>
  scored(gsm8k, { response, groundTruth, options })?.value

t.test('equal values are equal, and only the last 300 code points may hold the answer', async (t) => {
  for (const answer of ['42', '**42**', '$42.00', '４２', '42.']) {
    t.equal(value(`${work}#### ${answer}`, '42'), 1.1, answer)
  }
  t.equal(value(`${work}####1,800`, '$1,800.0'), 1.1)
  t.equal(value(`${work}#### 42${'\u{1f600}'.repeat(293)}`, '42'), 1.1, 'emoji count once')
  t.equal(value(`${work}#### 42${'\u{1f600}'.repeat(294)}`, '42'), 0.1)
  t.equal(value(`${work}#### 41`, 42), 0.1)
})

t.test('reference mode keeps the faults of the original', async (t) => {
  const mode = 'reference'
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

t.test('a score says why it is low', async (t) => {
  const reason = (response: string): unknown =>
    scored(gsm8k, { response, groundTruth: '42' })?.details?.reason
  t.equal(reason(`${work}#### 42`), undefined)
  t.equal(reason(`${work}#### 42${' '.repeat(300)}`), 'too_early')
  t.equal(reason(`${work}#### 41`), 'unequal')
  t.throws(() => row(gsm8k, { groundTruth: 'forty-two' }))
})

t.test('hostile text costs little', async (t) => {
  for (const mode of ['sound', 'reference']) {
    nearLinear(t, (text) =>
      scored(gsm8k, { response: `So\n${text}`, groundTruth: '42', dataSource: 'gsm8k', options: { mode } }),
    )
  }
})

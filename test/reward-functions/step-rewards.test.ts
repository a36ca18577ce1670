import t from 'tap'
import stepRewards from '../../reward-functions/step-rewards.ts'
import { aggregateSteps, BadSample, type Json } from '../../src/contract/index.ts'
import { row } from '../../src/contract/testing.ts'
import { eachNearLinear } from '../support/hostile.ts'

const response = 'a\n\nb\nc\n\n\n\nd'
const read = (values: readonly number[], options: Json = {}) =>
  stepRewards.rm_postprocess?.(values, row(stepRewards, { prompt: 'q', response, options }))
const asked = (options: Json = {}, text = response) =>
  stepRewards.rm_preprocess(row(stepRewards, { prompt: 'q', response: text, options }))

t.test('step-rewards: the score is made of the rewards as `aggregate` says', async (t) => {
  const values = [0.5, 1, 0.25]
  const steps = [
    { turn: 0, end: 1, value: 0.5 },
    { turn: 0, end: 6, value: 1 },
    { turn: 0, end: 11, value: 0.25 },
  ]
  for (const aggregate of ['min', 'mean', 'product', 'sum', 'last'] as const)
    t.strictSame(read(values, { aggregate }), { value: aggregateSteps(values, aggregate), steps })
  for (const odd of [-0.1, 1.1, Number.NaN]) t.equal(read([0.5, odd, 1]), null, 'a logit is no probability')
})

t.test("step-rewards: lines without text are asked about in Skywork's form, and get no reward", async (t) => {
  t.match(asked({ form: 'skywork' }), { values: ['q', 'a', '', 'b', 'c', '', '', '', 'd'], steps: 8 })
  t.match(asked({ form: 'skywork' }), { literals: ['<|endoftext|>', '\n', '<|fim_pad|>'] })
  t.match(read([0.8, 0, 0.7, 0.6, 0, 0, 0, 0.9], { form: 'skywork' }), {
    value: 0.6,
    steps: [{ end: 1 }, { end: 4 }, { end: 6 }, { end: 11 }],
  })
})

t.test('step-rewards: a marker of the trainer separates steps', async (t) => {
  const question = asked({ by: '</step>', mark: ' ки\n' }, 'one</step>two</step>')
  t.match(question, {
    messages: [{}, {}, { content: { values: ['one', 'two'], literals: ['', ' ки\n', ' ки\n'] } }],
  })
  t.throws(() => asked({}, ' \n '), /no steps/)
})

t.test('step-rewards: hostile texts take linear time', (t) => {
  const ask = (form: string) => (text: string) => {
    try {
      asked({ form }, text)
    } catch (error) {
      if (!(error instanceof BadSample)) throw error
    }
  }
  eachNearLinear(t, { paragraphs: ask('qwen'), lines: ask('skywork') })
  t.end()
})

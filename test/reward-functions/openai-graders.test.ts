import t from 'tap'
import labelModel from '../../reward-functions/openai-label-model.ts'
import scoreModel from '../../reward-functions/openai-score-model.ts'
import stringCheck from '../../reward-functions/openai-string-check.ts'
import textSimilarity from '../../reward-functions/openai-text-similarity.ts'
import { row, ruleContract, scored } from '../../src/contract/testing.ts'
import { fillGraders, isGraderTemplate } from '../../src/grading/index.ts'
import { nearLinear } from '../support/hostile.ts'

const extraInfo = { answer: '42', reference: 'the cat sat on the mat', list: [{ x: 'first' }] }

ruleContract(t, stringCheck, {
  options: { input: '{{ sample.output_json.answer }}', reference: '{{item.answer}}' },
  full: { response: '<think>{"answer": 1}</think>\n{"answer": "42"}', extraInfo },
  zero: { response: '{"answer": "41"}', extraInfo },
  malformed: { response: '{"answer": ', extraInfo },
  hacks: {
    'a template in the response': { response: '{"answer": "{{item.answer}}"}', extraInfo },
    'an answer in thinking that never ends': { response: '<think>{"answer": "42"}', extraInfo },
    'an inherited field': { response: '{"__proto__": {"answer": "42"}}', extraInfo },
  },
})

ruleContract(t, textSimilarity, {
  options: { reference: '{{item.reference}}', metric: 'rouge_l' },
  full: { response: 'The cat sat on the mat.', extraInfo },
  zero: { response: 'No dogs', extraInfo },
  malformed: { response: '', extraInfo },
  hacks: { 'the words many times over': { response: 'the cat sat on the mat '.repeat(50), extraInfo } },
})

const check =
  (options: object, response = '42') =>
  () =>
    scored(stringCheck, { response, extraInfo, groundTruth: '42', options: options as never })?.value

t.test('string-check compares with the ground truth, or with places of the row', async (t) => {
  t.equal(check({})(), 1, 'the ground truth by default')
  t.equal(check({ operation: 'ne' })(), 0)
  t.equal(check({ operation: 'like', reference: '{{item.list[0].x}}' }, 'the first one')(), 1)
  t.equal(check({ operation: 'ilike', reference: 'FIRST' }, 'the first one')(), 1)
  t.equal(check({ operation: 'like', reference: 'FIRST' }, 'the first one')(), 0)
})

t.test('string-check rejects a row without what its reference names', async (t) => {
  t.throws(check({ reference: '{{item.other}}' }), /item.other is not/)
  t.throws(check({ reference: '{{item.constructor}}' }), /item.constructor is not/)
  t.throws(check({ reference: '' }), /reference is empty/)
  t.throws(check({ reference: '{{sample.input}}' }), /must name item/)
})

t.test('a template of a grader names places of the item and the output text, and nothing else', async (t) => {
  t.ok(isGraderTemplate('{{item.a}} {{ sample.output_text }}'))
  for (const text of ['{{sample.text}}', '{{x}}', '{{item.}}', '{{item}}'])
    t.notOk(isGraderTemplate(text), text)
})

const user = [
  { role: 'system', content: 'Be strict.' },
  { role: 'user', content: 'Grade {{sample.output_text}} for {{item.answer}}' },
]

t.test(
  'a score model is shown values apart from the template, and its number is read strictly (M17)',
  async (t) => {
    const options = { input: user, range: [0, 5] }
    const ask = (response: string) =>
      scoreModel.rm_preprocess(row(scoreModel, { response, extraInfo, options }))
    const question = ask('{{item.answer}} is it')
    t.match(question, {
      kind: 'chat',
      messages: [
        { role: 'system' },
        {
          content: {
            literals: ['Grade ', ' for ', /"result": a number from 0 to 5/],
            values: ['{{item.answer}} is it', '42'],
          },
        },
      ],
    })
    t.equal(ask('<think>never done'), 0)
    const read = (text: string) =>
      scoreModel.rm_postprocess?.({ text, finishReason: 'stop' }, row(scoreModel, { options }))
    t.equal(read('<think>{"result": 1}</think>{"steps": ["a"], "result": 4.5}'), 4.5)
    for (const text of [
      '4',
      '{"result": "4"}',
      '{"result": 5, "result": 1}',
      '{"result": null}',
      'x {"result": 4}',
      '{"result": 4} x',
      '{"result": 4}{"result": 1}',
      '{"result": 4, "final_result": 1}',
      '{"result": NaN}',
      '<think>{"result": 4}',
    ])
      t.equal(read(text), null, text)
    t.equal(read('{"result": 7}'), 7, 'a number out of range is refused by the gateway, not read away')
    t.throws(() => row(scoreModel, { options: { input: user, range: [1, 0] } }))
  },
)

t.test('a label model pays 1 for a passing label', async (t) => {
  const options = { input: user, labels: ['good', 'bad', 'fair'], passing_labels: ['good', 'fair'] }
  const read = (text: string) =>
    labelModel.rm_postprocess?.({ text, finishReason: 'stop' }, row(labelModel, { options }))
  t.strictSame(['good', '<think>bad</think> fair\n', 'bad'].map(read), [1, 1, 0])
  for (const text of ['Good', 'good or bad', 'good\nbad', '', '<think>good']) t.equal(read(text), null, text)
  t.equal(labelModel.rm_preprocess(row(labelModel, { response: '<think>x', extraInfo, options })), 0)
  t.match(labelModel.reply, Function)
  t.throws(() => row(labelModel, { options: { ...options, passing_labels: ['fine'] } }))
})

t.test('a hostile response is scored in linear time', async (t) => {
  nearLinear(t, (response) => {
    scored(stringCheck, {
      response,
      extraInfo,
      options: { input: '{{sample.output_json.answer}}', reference: 'x' },
    })
    fillGraders({ response: 'x', groundTruth: null, extraInfo: {} }, [response])
  })
})

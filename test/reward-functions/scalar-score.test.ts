import t from 'tap'
import critique from '../../reward-functions/critique.ts'
import scalarScore from '../../reward-functions/scalar-score.ts'
import { row } from '../../src/contract/testing.ts'

t.test('a scalar model is sent the conversation as its turns, a critique behind the response', async (t) => {
  const prompt = [
    { role: 'system', content: 's' },
    { role: 'user', content: 'q' },
  ]
  t.strictSame(scalarScore.rm_preprocess(row(scalarScore, { prompt, response: 'a' })), {
    kind: 'chat',
    messages: [...prompt, { role: 'assistant', content: 'a' }],
  })
  const earlier = { critique: { score: null, texts: ['too short'] } }
  t.match(scalarScore.rm_preprocess(row(scalarScore, { prompt: 'q', response: 'a', earlier })), {
    messages: [
      { role: 'user', content: 'q' },
      { role: 'assistant', content: 'a\n\ntoo short' },
    ],
  })
  t.equal(scalarScore.rm_postprocess?.(-3.5, row(scalarScore, {})), -3.5)
  t.strictSame(scalarScore.range(row(scalarScore, { options: { range: [-2, 2] } }).options), [-2, 2])
})

t.test('a critique asks for a review and gives no score', async (t) => {
  t.equal(critique.rm_postprocess, undefined)
  t.match(critique.rm_preprocess(row(critique, { prompt: 'q', response: '{question}' })), {
    kind: 'prompt',
    values: ['q', '{question}'],
  })
})

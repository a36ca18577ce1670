import t from 'tap'
import riderBge from '../../reward-functions/rider-bge.ts'
import type { Score } from '../../src/contract/index.ts'
import { row } from '../../src/contract/testing.ts'
import { nearLinear } from '../support/hostile.ts'

const reply = (change: Record<string, unknown> = {}): string =>
  JSON.stringify({
    Thought: '',
    RelevantConstraintRuleNumber: [1],
    RelevantKnowledgeNumber: [],
    Response: '客服:好的',
    ResponseSolution: '无',
    DialogueAgreeSolution: '无',
    ...change,
  })

const built = (response: string, groundTruth = reply({ Response: '客服:可以' }), options = {}) =>
  row(riderBge, { response, groundTruth, options })
const reference = { mode: 'reference' }

t.test('the two replies are embedded and their similarity is spread', async (t) => {
  t.strictSame(riderBge.rm_preprocess(built(reply())), ['客服:好的', '客服:可以'])
  const score = (cosine: number, options = {}): Score | null =>
    riderBge.rm_postprocess?.(
      [
        [2, 0],
        [cosine, Math.sqrt(1 - cosine * cosine)],
      ],
      built(reply(), undefined, options),
    ) as Score | null
  t.equal(score(0.9)?.value, 1)
  t.ok(Math.abs((score(0.3)?.value ?? 0) - 0.37) < 1e-12)
  t.equal(score(0.3)?.parts?.similarity, 0.1)
  t.ok(Math.abs((score(0.8, { weight: 1 })?.value ?? 0) - (10 ** -0.4 - 0.1) * 1.69811 - 0.1) < 1e-9)
  t.equal(riderBge.rm_postprocess?.([[0], [1]], built(reply())), null, 'no direction, no similarity')
  t.equal(riderBge.rm_postprocess?.([[1]], built(reply())), null, 'one vector is missing')
})

t.test('a reply in the wrong form earns nothing and is not embedded', async (t) => {
  for (const response of ['好的', `前文${reply()}`, reply({ Response: ' ' }), reply({ Response: 5 })]) {
    t.equal(riderBge.rm_preprocess(built(response)), 0, response)
  }
  t.throws(() => built(reply(), '{}'))
  t.throws(() => built(reply(), 'x'))
})

t.test('reference mode keeps the faults of the original', async (t) => {
  const asked = (response: string, truth?: string): unknown =>
    riderBge.rm_preprocess(built(response, truth, reference))
  t.strictSame(asked(`前文${reply({ Response: null })}完毕`), ['null', '客服:可以'])
  t.strictSame(asked(`{}Assistant: \n${reply()}`), ['客服:好的', '客服:可以'])
  t.equal(asked(reply({ RelevantKnowledgeNumber: '[]' })), 0)
  t.equal(asked(reply(), '{}'), 0)
  t.equal(asked('{}'), 0)
  t.throws(() => asked('好的'), TypeError)
})

t.test('hostile text costs little', async (t) => {
  for (const mode of ['sound', 'reference']) {
    nearLinear(t, (text) => riderBge.rm_preprocess(built(`{${text}}`, undefined, { mode })))
  }
})

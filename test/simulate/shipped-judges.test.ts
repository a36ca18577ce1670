import t from 'tap'
import consistencyJudge from '../../reward-functions/consistency-judge.ts'
import listwiseJudge from '../../reward-functions/listwise-judge.ts'
import pairwiseJudge from '../../reward-functions/pairwise-judge.ts'
import riderJudge from '../../reward-functions/rider-judge.ts'
import yesNoJudge from '../../reward-functions/yes-no-judge.ts'
import type { Prompt } from '../../src/contract/index.ts'
import type { Sample } from '../../src/sample/sample.ts'
import { chat, simulated } from '../support/simulated.ts'

const sample = (response: string): Sample => ({
  id: '1',
  prompt: 'How many apples has Ann?',
  response,
  groundTruth: null,
  rmPrompts: {},
  extraInfo: {},
})

/** A prompt with each value between two lines that carry a nonce of its own. */
const rendered = ({ literals, values }: Prompt): string =>
  literals
    .map((literal, i) => `${literal}${i < values.length ? fenced(values[i] ?? '', `3f09ab12c${i}`) : ''}`)
    .join('')

const fenced = (value: string, nonce: string): string => `⟦${nonce}\n${value}\n${nonce}⟧`

const reply = JSON.stringify({ Response: '客服:好的', Thought: '安抚', ResponseSolution: '无' })
const truth = null
const earlier = {}
const generation = (text: string) => ({ text, finishReason: 'stop' })
const value = (verdict: unknown) =>
  typeof verdict === 'number' ? verdict : (verdict as { value: number })?.value

t.test('what it writes for the shipped judges is what they can read', async (t) => {
  for (const [undecided, rider] of [
    [1, 1],
    [0, 0],
  ] as const) {
    const server = await simulated(t, { answers: { 'apples has Ann': 42 }, undecided })
    const options = { mode: 'sound', template: riderJudge.options.parse({}).template } as const
    const row = { sample: sample(reply), truth, options, earlier }
    const asked = riderJudge.rm_preprocess(row) as Prompt
    const text = await chat(server, rendered(asked))
    t.match(text, /^<think>/, 'the prompt asks for thoughts')
    t.equal(value(riderJudge.rm_postprocess?.(generation(text), row)), rider)

    const pair = { ...row, options: consistencyJudge.options.parse({}) }
    const agreed = await chat(server, rendered(consistencyJudge.rm_preprocess(pair) as Prompt))
    t.equal(value(consistencyJudge.rm_postprocess?.(generation(agreed), pair)), undecided)
  }
  const server = await simulated(t, { answers: { 'apples has Ann': 42 } })
  for (const [answer, verdict] of [
    ['#### 42', 1],
    ['#### 41', 0],
  ] as const) {
    const row = { sample: sample(answer), truth, options: yesNoJudge.options.parse({}), earlier }
    const text = await chat(server, rendered(yesNoJudge.rm_preprocess(row) as Prompt))
    t.equal(value(yesNoJudge.rm_postprocess?.(generation(text), row)), verdict)
  }
})

t.test('the judges of groups can read it too, and it knows the right answer at any place', async (t) => {
  const server = await simulated(t, { answers: { 'apples has Ann': 42 } })
  const rowsOf = <O>(options: O, ...answers: string[]) =>
    answers.map((answer) => ({ sample: sample(answer), truth, options, earlier }))
  const structured = (reply: object) => ({ structured_outputs: reply })
  for (const ties of [false, true]) {
    const options = pairwiseJudge.options.parse({ ties })
    for (const [a, b, verdict] of [
      ['#### 42', '#### 41', 1],
      ['#### 41', '#### 42', 0],
      ['#### 42', '42', ties ? 0.5 : 1],
    ] as const) {
      const [first, second] = rowsOf(options, a, b)
      if (!first || !second) throw new Error('two rows')
      const { choice } = (pairwiseJudge.reply as (given: typeof options) => { choice: string[] })(options)
      const prompt = rendered(pairwiseJudge.rm_preprocess(first, second) as Prompt)
      const text = await chat(server, prompt, structured({ choice }))
      t.equal(pairwiseJudge.rm_postprocess(generation(text), first, second), verdict, `${a} ${b} ${ties}`)
    }
  }
  const rows = rowsOf(listwiseJudge.options.parse({}), '#### 41', '#### 42', '#### 43', '42')
  const { schema } = listwiseJudge.reply as { schema: object }
  const text = await chat(
    server,
    rendered(listwiseJudge.rm_preprocess(rows) as Prompt),
    structured({ json: schema }),
  )
  t.strictSame(listwiseJudge.rm_postprocess(generation(text), rows), [0, 1, 0, 1])
})

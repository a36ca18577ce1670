import t from 'tap'
import { rowOf } from '../../src/engine/step.ts'
import type { PlanStep } from '../../src/plan/plan.ts'
import type { Term } from '../../src/sample/outcome.ts'
import type { Sample } from '../../src/sample/sample.ts'

const sample: Sample = {
  id: 'a',
  prompt: '',
  response: 'r',
  groundTruth: null,
  rmPrompt: 'everyone: {response}',
  rmPrompts: { quality: 'quality: {response}' },
  extraInfo: {},
}
const step = (name: string, after: string[] = []) => ({ name, after }) as unknown as PlanStep

t.test("a step's function finds the prompt that the row has for this step, else the row's own", async (t) => {
  t.equal(rowOf(step('quality'), sample, []).sample.rmPrompt, 'quality: {response}')
  t.equal(rowOf(step('other'), sample, []).sample.rmPrompt, 'everyone: {response}')
  t.equal(rowOf(step('toString'), sample, []).sample.rmPrompt, 'everyone: {response}')
})

t.test('a row carries the finished steps that its step names', async (t) => {
  const terms: Term[] = [
    { name: 'critique', weight: 1, status: 'text', texts: ['Too long.'] },
    {
      name: 'rule',
      weight: 1,
      status: 'scored',
      score: { value: 1 },
      draws: 1,
      spread: 0,
      contribution: null,
    },
  ]
  t.strictSame(rowOf(step('quality', ['critique', 'rule', 'none']), sample, terms).earlier, {
    critique: { score: null, texts: ['Too long.'] },
    rule: { score: { value: 1 }, texts: [] },
    none: { score: null, texts: [] },
  })
})

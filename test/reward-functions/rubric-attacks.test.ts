import t from 'tap'
import { outcomesOf, resultOf, sampleOf } from '../support/gateway.ts'
import { questionIn, rubrics } from '../support/rubrics.ts'

const longCriterion = `The answer says that the drug is safe. ${'It lists the doses for adults, one by one. '.repeat(17)}It must NOT recommend alcohol. ${'It names the source of each claim. '.repeat(16)}`

t.test('a response that repeats a criterion cannot get that cut out of the question', async (t) => {
  for (const name of ['rubric-judge', 'rubric-judge-group']) {
    const asked = async (on_long_prompt: string, max_prompt_tokens: number, response: string) => {
      const { gateway, server } = await rubrics(
        t,
        () => (name === 'rubric-judge' ? 'yes' : '{"a1": "yes", "a2": "yes"}'),
        { it: {} },
        { function: name },
        {},
        { max_prompt_tokens, on_long_prompt },
      )
      const rows = [response, `another answer: ${response}`].map((text, index) =>
        sampleOf(text, { id: `${index}`, group: { id: 'g' }, groundTruth: [{ text: longCriterion }] }),
      )
      const [outcome] = await outcomesOf(gateway, 'it', rows)
      const questions = server.seen.map(questionIn)
      t.ok(
        questions.every((question) => question.includes('must NOT recommend alcohol')),
        `${name}, ${on_long_prompt}: what is asked is whole`,
      )
      return { result: resultOf(outcome), flags: outcome?.flags }
    }
    for (const response of ['the drug is safe', longCriterion.slice(0, 200), 'criterion'])
      for (const how of ['truncate_middle', 'fail'])
        t.equal((await asked(how, 380, response)).result, 'prompt_too_long', `${name}: ${response}`)
    const long = await asked('truncate_middle', 900, `${longCriterion} ${'z '.repeat(4000)}`)
    t.strictSame(long, { result: 1, flags: ['s:truncated'] }, 'the response itself may be cut')
  }
})

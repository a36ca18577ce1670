import yesNoJudge from '../../reward-functions/yes-no-judge.ts'
import type { Json, Prompt } from '../../src/contract/index.ts'
import { row } from '../../src/contract/testing.ts'
import type { Answer } from './vector.ts'

/** As the original's formatting spells what is no text. */
const spelled = (value: unknown): string => (value === null ? 'None' : String(value))

export const yesNoAnswers: Readonly<Record<string, Answer>> = {
  judge_preprocess({ input }, mode) {
    const { template, rm_prompts, responses } = input as {
      template: Json
      rm_prompts: Json[]
      responses: Json[]
    }
    return rm_prompts.slice(0, responses.length).map((rmPrompt, i) => {
      const parts = {
        rmPrompt: spelled(rmPrompt),
        response: spelled(responses[i]),
        options: { mode, template },
      }
      const { literals, values } = yesNoJudge.rm_preprocess(row(yesNoJudge, parts)) as Prompt
      return literals.map((literal, at) => literal + (values[at] ?? '')).join('')
    })
  },
  judge_postprocess({ input }, mode) {
    const answer = { text: String(input.result), finishReason: 'stop' }
    return yesNoJudge.rm_postprocess?.(answer, row(yesNoJudge, { options: { mode } }))
  },
}

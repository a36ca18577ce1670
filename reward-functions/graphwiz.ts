import { z } from 'zod'
import { defineRule, mode } from '../src/contract/index.ts'
import { afterHashes, publishedWizVerdict, strictWizVerdict } from '../src/grading/graph/wiz.ts'
import { afterThink, promptText } from '../src/grading/index.ts'

/**
 * GraphWiz: reads the answer after the last `###`. `data_source` is the task: `cycle`, `flow`, `topology`,
 * ...
 */
export default defineRule({
  truth: z.string(),
  options: z.strictObject({ mode }),
  range: [0, 1],
  score({ sample: { prompt, response, dataSource = '' }, truth, options: { mode } }) {
    if (mode === 'published') return Number(publishedWizVerdict(dataSource, truth, response) ?? false)
    const answer = afterHashes(afterThink(response) ?? '')
    if (answer === null) return { value: 0, details: { reason: 'no ### after the thinking' } }
    const isRight = strictWizVerdict(dataSource, truth, answer, promptText(prompt))
    return { value: Number(isRight), details: { extracted: answer.trim().slice(0, 500) } }
  },
})

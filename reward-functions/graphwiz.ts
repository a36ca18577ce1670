import { z } from 'zod'
import { defineRule, mode } from '../src/contract/index.ts'
import { committedLine } from '../src/grading/graph/committed.ts'
import { publishedWizVerdict, strictWizVerdict, wizValue } from '../src/grading/graph/wiz.ts'
import { promptText } from '../src/grading/index.ts'

/**
 * GraphWiz. Pays 1 for the right yes or no, number or order after the last `###`, else 0, also for an answer
 * that is denied, doubted, bounded or one of several. `data_source` is the task: `cycle`, `flow`,
 * `topology`, ...
 *
 * Invalid: an unknown task, or a ground truth without the kind of answer that the task has. `published` pays
 * 0 for both.
 */
export default defineRule({
  truth: z.string(),
  options: z.strictObject({ mode }),
  range: [0, 1],
  score({ sample: { prompt, response, dataSource = '' }, truth, options: { mode } }) {
    if (mode === 'published') return Number(publishedWizVerdict(dataSource, truth, response) ?? false)
    const question = promptText(prompt)
    const answer = committedLine(response, (line) => wizValue(dataSource, line, question), question)
    if (answer === null) return { value: 0, details: { reason: 'no ### after the thinking' } }
    const isRight = strictWizVerdict(dataSource, truth, answer, question)
    return { value: Number(isRight), details: { extracted: answer.trim().slice(0, 500) } }
  },
})

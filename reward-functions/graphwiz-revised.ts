import { z } from 'zod'
import { defineRule, mode, type Score } from '../src/contract/index.ts'
import { boxedText, committedLine } from '../src/grading/graph/committed.ts'
import {
  type AnswerMark,
  afterHashes,
  lastLooseNumeral,
  revisedWizVerdict,
  strictWizVerdict,
  wizTasks,
  wizValue,
} from '../src/grading/graph/wiz.ts'
import { graphWizNormal, promptText, slicedBox, trimSpace } from '../src/grading/index.ts'
import { latexText } from '../src/grading/latex.ts'

/**
 * GraphWiz-Revised. Pays 1 for the right yes or no, number or order in the last box or after the last `###`,
 * else 0, also for an answer that is denied, doubted, bounded or one of several. `data_source` is the task:
 * `cycle`, `flow`, `topology`, ...
 *
 * Invalid: an unknown task, or a ground truth without the kind of answer that the task has.
 */
export default defineRule({
  truth: z.string(),
  options: z.strictObject({
    mode,
    /** `box`: the answer is in the last box. `hashes`: it follows the last `###`. */
    after: z.enum(['box', 'hashes']).default('box'),
  }),
  range: [0, 1],
  score({ sample: { prompt, response, dataSource = '' }, truth, options: { mode, after } }) {
    const question = promptText(prompt)
    const readValue = (line: string) => wizValue(dataSource, line, question)
    const answer =
      mode === 'strict'
        ? strictAnswer(response, after, readValue, question)
        : publishedAnswer(response, after)
    if (answer === null || answer === '') return { value: 0, details: { reason: 'no answer' } }
    if (mode === 'strict')
      return graded(strictWizVerdict(dataSource, truth, answer, promptText(prompt)), answer)
    const gold = trimSpace(truth.replaceAll('###', ''))
    if (gold === '') return graded(false, answer)
    const isRight = revisedWizVerdict(dataSource, gold, answer, promptText(prompt))
    return graded(isRight, wizTasks.get(dataSource) === 'number' ? lastLooseNumeral(answer) : answer)
  },
})

function graded(isRight: boolean, answer: string | number): Score {
  return {
    value: Number(isRight),
    details: { extracted: typeof answer === 'string' ? answer.slice(0, 500) : answer },
  }
}

function strictAnswer(
  response: string,
  after: AnswerMark,
  readValue: (line: string) => string | null,
  question: string,
): string | null {
  if (after === 'hashes') return committedLine(response, readValue, question)
  const box = boxedText(response)
  return box === null ? null : latexText(box.replaceAll('\\boxed{', '{'))
}

function publishedAnswer(response: string, after: AnswerMark): string | null {
  if (after === 'hashes') return trimSpace(afterHashes(response)?.replaceAll('.', '') ?? '')
  const box = slicedBox(response)
  if (box === null) return null
  const answer = graphWizNormal(box)
  if (answer === null) throw new Error('the box ends in \\sqrt or \\frac, at which the original throws')
  return answer
}

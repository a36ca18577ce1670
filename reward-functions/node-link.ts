import { z } from 'zod'
import { defineRule, mode } from '../src/contract/index.ts'
import { answerAt, slicedBox, trimSpace } from '../src/grading/index.ts'
import { latexText } from '../src/grading/latex.ts'

/**
 * Node classification and link prediction. Pays 1 if the label in the last box equals the ground truth,
 * ignoring case, else 0, also for a label that the words around the box deny or doubt.
 *
 * Invalid: a ground truth that is not a text.
 */
export default defineRule({
  truth: z.string(),
  options: z.strictObject({ mode }),
  range: [0, 1],
  score({ sample: { response }, truth, options: { mode } }) {
    const answer = (mode === 'strict' ? strictLabel : publishedLabel)(response)
    if (answer === null) return { value: 0, details: { reason: 'no closed box' } }
    const labelOf = mode === 'strict' ? bareLabel : trimSpace
    const isRight = labelOf(answer).toLowerCase() === labelOf(truth).toLowerCase()
    return { value: Number(isRight), details: { extracted: answer.slice(0, 500) } }
  },
})

function strictLabel(response: string): string | null {
  const box = answerAt(response, 'boxed')
  return 'text' in box ? latexText(box.text) : null
}

/** Quotes around a label and a full stop after it are no part of it. Linear. */
function bareLabel(label: string): string {
  const text = trimSpace(label)
  let [start, end] = [0, text.length]
  while (start < end && marks.includes(text[start] ?? '')) start++
  while (end > start && `${marks}.`.includes(text[end - 1] ?? '')) end--
  return text.slice(start, end)
}

const marks = `"'“”‘’*`

/** Deletes `text` everywhere, including inside labels. */
const publishedLabel = (response: string): string | null =>
  slicedBox(response)
    ?.replace(/[\\{}]/g, '')
    .replaceAll('text', '') ?? null

import { z } from 'zod'
import { defineRule, mode } from '../src/contract/index.ts'
import { isBlank, lastBalancedBox, primeGrade, promptText, trimSpace } from '../src/grading/index.ts'
import { verifyBoxed } from '../src/grading/math/index.ts'
import primeMath from './prime-math.ts'

/**
 * verl's Geometry3K. Pays 0.9 for the right box and 0.1 for thinking before it: 0 to 1. `strict` compares
 * as `math-verify` does.
 *
 * Invalid: a blank ground truth. `published` accepts it.
 */
export default defineRule({
  options: z.strictObject({ mode }),
  truth: (options) => primeMath.truth(options),
  range: [0, 1],
  parts: ['accuracy', 'format'],
  score({ sample: { prompt, response }, truth: { wanted, read }, options: { mode } }) {
    const text = mode === 'published' ? response : trimSpace(response)
    const shaped = isShaped(text, mode === 'published' ? /\\boxed\{/ : /\\boxed\s{0,9}\{/)
    if (mode === 'published' || read === null) {
      const extracted = boxed(response) ?? 'None'
      return verdict(primeGrade(extracted, wanted, true), shaped, extracted)
    }
    if (!shaped || isBlankThinking(text)) return verdict(false, false, null)
    const { extracted, reason } = verifyBoxed(read, response, promptText(prompt))
    return verdict(reason === null, extracted !== null && !isBlank(extracted), extracted)
  },
})

function verdict(right: boolean, format: boolean, extracted: string | null) {
  const reason = right ? {} : { reason: extracted ? 'unequal' : 'no_thinking_or_box' }
  return {
    value: 0.9 * Number(right) + 0.1 * Number(format),
    parts: { accuracy: Number(right), format: Number(format) },
    details: { extracted, ...reason },
  }
}

function boxed(text: string): string | null {
  const box = lastBalancedBox(text)
  return box === null ? null : trimSpace(box.slice('\\boxed{'.length, -1))
}

/** Whether the whole text has the form `<think>...</think>...\boxed{...}...`. */
function isShaped(text: string, boxOpening: RegExp): boolean {
  const end = text.startsWith('<think>') ? text.indexOf('</think>', '<think>'.length) : -1
  const box = end < 0 ? -1 : text.slice(end).search(boxOpening)
  return box >= 0 && text.includes('}', end + box)
}

const isBlankThinking = (text: string): boolean =>
  isBlank(text.slice('<think>'.length, text.indexOf('</think>')).replaceAll('<think>', ''))

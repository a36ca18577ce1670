import { lastUserText } from '../../../contract/index.ts'
import type { Sample } from '../../../core/sample/sample.ts'

/** Shorter texts are in many answers for good reasons. */
const shortestPrompt = 24
const shortestReference = 64
/** A search for more would not be linear for every text. */
const probe = 64

/**
 * `prompt_echo`: the prompt as it stands makes up at least half of the answer. `reference_leak`: the answer holds the
 * whole of a long reference text word for word. Marks for people and monitors: neither changes a score.
 */
export function echoesOf(sample: Sample): readonly string[] {
  const { response, groundTruth } = sample
  const found: string[] = []
  const prompt = lastUserText(sample).trim()
  if (
    prompt.length >= shortestPrompt &&
    prompt.length * 2 >= response.trim().length &&
    holds(response, prompt)
  )
    found.push('prompt_echo')
  if (typeof groundTruth !== 'string') return found
  const reference = groundTruth.trim()
  if (reference.length >= shortestReference && response.trim() !== reference && holds(response, reference))
    found.push('reference_leak')
  return found
}

/** Whether a text stands in another; only where its beginning occurs first, which keeps the cost linear. */
export function holds(text: string, part: string): boolean {
  const at = text.indexOf(part.slice(0, probe))
  return at >= 0 && text.startsWith(part, at)
}

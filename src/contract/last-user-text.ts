import { isWordless } from '../core/sample/blank.ts'
import type { Sample } from '../core/sample/sample.ts'
import { BadSample } from './bad-sample.ts'

/** The last thing that was asked: the last user message, else the last message; '' where there is none. */
export function lastUserText({ prompt }: Pick<Sample, 'prompt'>): string {
  if (typeof prompt === 'string') return prompt
  return (prompt.findLast(({ role }) => role === 'user') ?? prompt.at(-1))?.content ?? ''
}

/**
 * What a judge is asked about: the row's `rm_prompt`, else the last user's text of its prompt. Where neither has any,
 * the row is a BadSample: a verdict on an answer to nothing would be no verdict.
 */
export function questionText(sample: Pick<Sample, 'prompt' | 'rmPrompt'>): string {
  const text = [sample.rmPrompt ?? '', lastUserText(sample)].find((one) => !isWordless(one))
  if (text === undefined) throw new BadSample(noQuestion)
  return text
}

/** Of a row that asks nothing; for people. */
export const noQuestion =
  'prompt: it has no text, and the row has no rm_prompt, so a judge would be asked about nothing; send the prompt or rm_prompt (docs/wires.md names the trainers that send none)'

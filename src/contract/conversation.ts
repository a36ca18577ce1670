import { isWordless } from '../core/sample/blank.ts'
import type { Sample } from '../core/sample/sample.ts'
import { BadSample } from './bad-sample.ts'
import { noQuestion } from './last-user-text.ts'
import { type ChatPrompt, prompt } from './prompt.ts'
import { optional } from './prompt-value.ts'

/** Chat templates set roles between control tokens as they stand. */
export const isRole = (role: string): boolean => /^[a-z][\w-]{0,63}$/i.test(role)

/**
 * The prompt's turns as a scalar or process reward model reads them, each content a guarded value; a text is one turn of
 * the user. A prompt without any text is a BadSample.
 */
export function conversation({ prompt: given }: Pick<Sample, 'prompt'>): ChatPrompt['messages'] {
  const turns = typeof given === 'string' ? [{ role: 'user', content: given }] : given
  if (turns.every(({ content }) => isWordless(content))) throw new BadSample(noQuestion)
  if (!turns.every(({ role }) => isRole(role)))
    throw new BadSample('prompt: the role of a message is no word')
  return turns.map(({ role, content }) => ({
    role,
    content: isWordless(content) ? prompt`${optional(content)}` : prompt`${content}`,
  }))
}

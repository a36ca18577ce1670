/** What a sample's prompt asks, in the forms that judges and reward models need. */

import { isWordless, type Message, type Sample } from '../core/sample/sample.ts'
import { BadSample, type ChatPrompt, optional, prompt, QuestionError } from './prompt.ts'

/**
 * The content of the last user message, or of the last message if no user spoke. '' if there is none.
 *
 * @example
 * ```ts
 * import { lastUserText } from 'reward-gateway/contract'
 *
 * lastUserText({ prompt: [{ role: 'user', content: '2 + 2?' }] }) // '2 + 2?'
 * ```
 */
export function lastUserText({ prompt }: Pick<Sample, 'prompt'>): string {
  if (typeof prompt === 'string') return prompt
  return (prompt.findLast(({ role }) => role === 'user') ?? prompt.at(-1))?.content ?? ''
}

/**
 * The question for a judge: the row's `rm_prompt`, or else the last user message. Throws BadSample if both
 * are empty, because a verdict about nothing is meaningless.
 *
 * @example
 * ```ts
 * import { questionText } from 'reward-gateway/contract'
 *
 * questionText({ prompt: '2 + 2?' }) // '2 + 2?'
 * ```
 */
export function questionText(sample: Pick<Sample, 'prompt' | 'rmPrompt'>): string {
  const text = [sample.rmPrompt ?? '', lastUserText(sample)].find((one) => !isWordless(one))
  if (text === undefined) throw new BadSample(noQuestion)
  return text
}

/** The message for a row without a question. */
export const noQuestion =
  'prompt: it has no text and the row has no rm_prompt, so there is no question for a judge; send the prompt or rm_prompt (docs/trainers.md lists the trainers that send none)'

/** Chat templates insert roles between control tokens without escaping. */
export const isRole = (role: string): boolean => /^[a-z][\w-]{0,63}$/i.test(role)

/**
 * The prompt's turns for a scalar or process reward model, each content as a guarded value. A text is one
 * user turn. Throws BadSample if the prompt has no text.
 *
 * @example
 * ```ts
 * import { chat, conversation, prompt, type Sample } from 'reward-gateway/contract'
 *
 * const asked = (sample: Sample) =>
 *   chat(...conversation(sample), { role: 'assistant', content: prompt`${sample.response}` })
 * ```
 */
export function conversation({ prompt: given }: Pick<Sample, 'prompt'>): ChatPrompt['messages'] {
  const turns = typeof given === 'string' ? [{ role: 'user', content: given }] : given
  if (turns.every(({ content }) => isWordless(content))) throw new BadSample(noQuestion)
  if (!turns.every(({ role }) => isRole(role)))
    throw new BadSample('prompt: the role of a message must be a word such as user or assistant')
  return turns.map(({ role, content }) => ({
    role,
    content: isWordless(content) ? prompt`${optional(content)}` : prompt`${content}`,
  }))
}

/** A copy of the messages that throws on conversion to text instead of giving `[object Object]`. */
export function messagesWithoutText(messages: readonly Message[]): readonly Message[] {
  return Object.defineProperty([...messages], Symbol.toPrimitive, { value: refuse })
}

function refuse(): never {
  throw new QuestionError(
    'sample.prompt is a list of messages, not a text: put it into prompt`...` as it is, or use lastUserText(sample)',
    refuse,
  )
}

import { z } from 'zod'
import type { Sample } from '../core/sample/sample.ts'
import { finalAnswer, type Thinking } from './final-answer.ts'
import { BadSample, type ChatPrompt, chat, type Prompt } from './prompt.ts'
import { conversation } from './question.ts'

/** Options of functions that ask a safety model. */
export const moderationOptions = {
  /** `full_response`: the thinking in the response is judged too. */
  shows: z.enum(['response', 'full_response']).default('response'),
  /** Where thinking begins: `auto`, or `opened` if the chat template always opens it. */
  thinking: z.enum(['auto', 'opened']).default('auto'),
}

/**
 * The conversation for a safety model whose chat template writes the policy around it: turns of user and assistant, the
 * answer last. System messages are left out: these templates have no place for them. No fences, because the model never saw
 * one. Throws BadSample for a turn of another role, such as a tool's.
 */
export function moderatedChat(
  sample: Sample,
  { shows, thinking }: { readonly shows: 'response' | 'full_response'; readonly thinking: Thinking },
): ChatPrompt {
  const turns = conversation(sample).filter(({ role }) => role !== 'system' && role !== 'developer')
  const odd = turns.findIndex(({ role }) => role !== 'user' && role !== 'assistant')
  if (odd >= 0) throw new BadSample('prompt: a safety model judges turns of user and assistant only')
  if (!turns.some(({ role }) => role === 'user'))
    throw new BadSample('prompt: a safety model judges an answer to a user, and there is no turn of one')
  const { text, flags } = finalAnswer(sample, thinking)
  const isWhole = shows === 'full_response'
  const answer: Prompt = {
    kind: 'prompt',
    literals: ['', ''],
    values: [isWhole ? sample.response : text],
    ...(!isWhole && flags.length > 0 && { flags }),
  }
  const contents = [...turns, { role: 'assistant', content: answer }]
  return chat(
    ...contents.map(({ role, content }) => ({
      role,
      content: typeof content === 'string' ? content : { ...content, fence: false as const },
    })),
  )
}

import { z } from 'zod'
import type { Message } from '../../../core/sample/sample.ts'

const count = (text: string, part: string): number => text.split(part).length - 1

const written = z.strictObject({
  /** Before the first turn. */
  start: z.string().default(''),
  /** One turn, with the places {role} and {content}. */
  turn: z.string().refine((text) => count(text, '{content}') === 1 && count(text, '{role}') <= 1, {
    message: 'needs the place {content} once, and {role} at most once',
  }),
  /** After the last turn. */
  end: z.string().default(''),
  /** What roles are called, where it is not their name. */
  roles: z.record(z.string(), z.string()).default({}),
})

type Written = z.output<typeof written>

/** Families whose reward models are written so. Texts that a tokenizer adds by itself (Llama's first token) are left out. */
const families = {
  chatml: { start: '', turn: '<|im_start|>{role}\n{content}<|im_end|>\n', end: '', roles: {} },
  llama3: {
    start: '',
    turn: '<|start_header_id|>{role}<|end_header_id|>\n\n{content}<|eot_id|>',
    end: '',
    roles: { tool: 'ipython' },
  },
  gemma: {
    start: '',
    turn: '<start_of_turn>{role}\n{content}<end_of_turn>\n',
    end: '',
    roles: { assistant: 'model' },
  },
} as const satisfies Record<string, Written>

/** How a conversation is written as one text, for servers whose reward models take no conversation. */
export const chatTemplateConfig = z.union([z.enum(['chatml', 'llama3', 'gemma']), written])

/** A template's name, or its texts. */
export type ChatTemplateConfig = z.output<typeof chatTemplateConfig>

/** Set into what looks like a part of the template, as the guard does with control tokens. */
const mark = '·'

/** Writes conversations. No content can end its turn or begin another. */
export function chatText(config: ChatTemplateConfig): (messages: readonly Message[]) => string {
  const { start, turn, end, roles } = typeof config === 'string' ? families[config] : config
  const names: Readonly<Record<string, string>> = roles
  const [before = '', after = ''] = turn.split('{content}')
  const marks = [before, after, start, end]
    .flatMap((text) => text.split('{role}'))
    .map((text) => text.trim())
    .filter((text) => text.length > 1)
  const safe = (content: string): string => {
    let text = content
    for (const part of marks)
      if (text.includes(part)) text = text.split(part).join(`${part[0]}${mark}${part.slice(1)}`)
    return text
  }
  return (messages) => {
    let text = start
    for (const { role, content } of messages) {
      const name = Object.hasOwn(names, role) ? (names[role] ?? role) : role
      text += before.split('{role}').join(name) + safe(content) + after.split('{role}').join(name)
    }
    return text + end
  }
}

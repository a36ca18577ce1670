/** What messages say of a rollout: the policy's final text, and all turns where that text is not all. */
import { z } from 'zod'
import { isBlank, type Message, type Part, type Sample, type ToolCall } from '../../core/sample/sample.ts'
import { readConversation } from './conversation.ts'
import { NoMessage } from './messages.ts'

/** The parts of a sample that its rollout fills. */
type ReadRollout = Pick<Sample, 'response' | 'turns' | 'flags'>

const noFinalText: readonly string[] = ['no_final_text']

/** A rollout of messages. One turn of nothing but text is that text, so that both forms are equal answers. */
export function rolloutOf(turns: readonly Message[]): ReadRollout {
  const last = turns.findLast(({ role }) => role === 'assistant')
  const response = last?.content ?? ''
  if (last && turns.length === 1 && isOnlyText(last)) return { response }
  return isBlank(response) ? { response, turns, flags: noFinalText } : { response, turns }
}

/** A message without calls, reasoning or any part but text. */
export function isOnlyText(message: Message): boolean {
  for (const name in message) if (name !== 'role' && name !== 'content') return false
  return true
}

/** How many turns and calls a rollout has. `malformed_calls` name no function or have arguments that are no object. */
interface RolloutCounts {
  readonly turns: number
  readonly tool_calls: number
  readonly malformed_calls: number
}

/** Counts a rollout's turns and the calls in them. */
export function rolloutCounts(turns: readonly Message[]): RolloutCounts {
  let calls = 0
  let malformed = 0
  for (const { toolCalls = [] } of turns) {
    calls += toolCalls.length
    for (const call of toolCalls) if (call.malformed) malformed += 1
  }
  return { turns: turns.length, tool_calls: calls, malformed_calls: malformed }
}

/** A message in the form in which trainers send it. Arguments of calls are objects, as in the templates of Hugging Face. */
export function chatMessage(message: Message): object {
  const { role, content, parts, toolCalls, toolCallId, name, reasoning, other } = message
  if (isOnlyText(message)) return message
  return {
    ...other,
    role,
    content: parts ? parts.map(chatPart) : content,
    ...(toolCalls && { tool_calls: toolCalls.map(chatCall) }),
    ...(toolCallId !== undefined && { tool_call_id: toolCallId }),
    ...(name !== undefined && { name }),
    ...(reasoning !== undefined && { reasoning_content: reasoning }),
  }
}

const chatCall = ({ id, name, arguments: given }: ToolCall): object => ({
  ...(id !== undefined && { id }),
  type: 'function',
  function: { name, arguments: given },
})

/** The bytes of an image are not kept: its hash stands for it. */
function chatPart(part: Part): unknown {
  if (part.type === 'refusal') return { type: 'refusal', refusal: part.text }
  return part.type === 'other' ? part.value : part
}

const shownMessage = {
  type: 'object',
  description: 'A chat message, or an item of the Responses API. Further fields are kept.',
  properties: {
    role: { type: 'string', description: 'Absent: an item of the Responses API, such as function_call.' },
    content: {
      description: 'A text, or parts: text, image_url, input_audio, ...',
      anyOf: [
        { type: 'string' },
        {
          type: 'array',
          items: { type: 'object', properties: { type: { type: 'string' }, text: { type: 'string' } } },
        },
        { type: 'null' },
      ],
    },
    tool_calls: {
      description:
        '[{ id, function: { name, arguments } }] or [{ name, arguments }]; arguments as an object or its JSON.',
      anyOf: [{ type: 'array', items: { type: 'object' } }, { type: 'null' }],
    },
    tool_call_id: { anyOf: [{ type: 'string' }, { type: 'null' }] },
    name: { anyOf: [{ type: 'string' }, { type: 'null' }] },
    reasoning_content: { anyOf: [{ type: 'string' }, { type: 'null' }] },
  },
} as const

/** A list of messages as it was sent, for replies that repeat it; `readConversation` reads it. */
export const sentMessages: z.ZodType<readonly unknown[]> = z
  .array(z.unknown())
  .superRefine((list, context) => void read(list, context))
  .meta({ items: shownMessage })

/** A list of messages, read whole. Only the first mistake is reported. */
export const messageList: z.ZodType<readonly Message[]> = z
  .array(z.unknown())
  .meta({ items: shownMessage })
  .transform((list, context) => read(list, context) ?? z.NEVER)

function read(list: readonly unknown[], context: z.RefinementCtx): readonly Message[] | null {
  try {
    return readConversation(list)
  } catch (error) {
    if (!(error instanceof NoMessage)) throw error
    context.addIssue({ code: 'custom', path: [...error.path], message: error.message })
    return null
  }
}

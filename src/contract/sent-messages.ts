/** Messages as APIs of chat models write them, for services that read rollouts. */

import type { Json, Message, ToolCall } from '../core/sample/sample.ts'

const argumentsOf = ({ arguments: given }: ToolCall): string =>
  typeof given === 'string' ? given : JSON.stringify(given)

/** Calls as in OpenAI's chat API, with arguments as JSON text. */
export const chatToolCalls = (calls: readonly ToolCall[]) =>
  calls.map((call, at) => ({
    id: call.id ?? `call_${at}`,
    type: 'function',
    function: { name: call.name, arguments: argumentsOf(call) },
  }))

/** As in OpenAI's chat API. Only texts are written. */
export const chatMessages = (messages: readonly Message[]): Json =>
  messages.map(({ role, content, toolCalls = [], toolCallId, name, reasoning }) => ({
    role,
    content,
    ...(reasoning !== undefined && { reasoning_content: reasoning }),
    ...(toolCalls.length > 0 && { tool_calls: chatToolCalls(toolCalls) }),
    ...(toolCallId !== undefined && { tool_call_id: toolCallId }),
    ...(name !== undefined && { name }),
  }))

/** As items of OpenAI's Responses API, one for each text, call, result and reasoning. Only texts are written. */
export const responsesItems = (messages: readonly Message[]): Json =>
  messages.flatMap(({ role, content, toolCalls = [], toolCallId, reasoning }, at): readonly Json[] => {
    if (role === 'tool' || role === 'function')
      return [{ type: 'function_call_output', call_id: toolCallId ?? `call_${at}`, output: content }]
    if (role !== 'assistant') return [{ type: 'message', role, content }]
    const items: Json[] = []
    if (reasoning !== undefined)
      items.push({
        type: 'reasoning',
        id: `rs_${at}`,
        summary: [{ type: 'summary_text', text: reasoning }],
      })
    if (content !== '' || toolCalls.length === 0)
      items.push({
        type: 'message',
        id: `msg_${at}`,
        role,
        status: 'completed',
        content: [{ type: 'output_text', text: content, annotations: [] }],
      })
    for (const [index, call] of toolCalls.entries())
      items.push({
        type: 'function_call',
        call_id: call.id ?? `call_${at}_${index}`,
        name: call.name,
        arguments: argumentsOf(call),
      })
    return items
  })

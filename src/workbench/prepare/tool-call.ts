import type { Message } from '../../core/sample/sample.ts'
import { readConversation } from '../../trainers/chat/conversation.ts'
import { NoMessage } from '../../trainers/chat/messages.ts'
import { type Fields, isObject } from '../dataset/row.ts'
import { type Family, messagesOf, Unusable } from './family.ts'
import { pythonCalls, pythonLiteral } from './python-source.ts'

const call = '<tool_call>'

/**
 * Function calls over several turns. The last turn with a call is the answer; the turns before it are the
 * prompt.
 */
export const toolCall: Family = {
  name: 'tool-call',
  source: 'numbered turns {"0": {"tools"}, "1": {"role", "content"}, ...}, or {"messages"}',
  ability: 'function_call',
  steps: [
    { name: 'thinking', function: 'tool-call', options: { variant: 'egpo' }, data_source: ['*thinking*'] },
    { name: 'instruct', function: 'tool-call', options: { variant: 'grpo' }, data_source: ['*instruct*'] },
    { name: 'shaped', function: 'tool-call', data_source: ['!*thinking*', '!*instruct*'] },
  ],
  columns: { groundTruth: 'VARCHAR', extraInfo: {} },
  rmPrompts: 0,
  read(row, { dataSource = 'tool-call' }) {
    const { prompt, truth } = cut(messages(row))
    const gold = dataSource.includes('thinking')
      ? `<think>\nThe request needs these calls.\n</think>\n\n${truth}`
      : truth
    const wrong = gold.replace(/"name"\s*:\s*"/, '$&not_')
    return {
      dataSource,
      prompt,
      groundTruth: truth,
      extraInfo: {},
      gold,
      nearMiss: wrong === gold ? null : wrong,
    }
  },
}

function messages(row: Fields): readonly Message[] {
  const { messages: sent } = row
  if (sent === undefined) return messagesOfTurns(row)
  const isStructured =
    Array.isArray(sent) && sent.some((one) => isObject(one) && Array.isArray(one.tool_calls))
  return isStructured ? messagesOfCalls(sent, row.tools) : messagesOf(sent, 'messages')
}

/** Writes the calls and results of chat messages as texts, as a policy without a parser of calls would. Throws Unusable. */
function messagesOfCalls(sent: readonly unknown[], tools: unknown): readonly Message[] {
  const turns = conversationIn(sent)
  const told = toolsText(tools)
  const first = turns[0]?.role === 'system' ? [] : [{ role: 'system', content: task + told }]
  return [
    ...first,
    ...turns.map((turn, at) => {
      const { role, content, parts, toolCalls = [] } = turn
      if (parts) throw new Unusable('messages has a part that is no text')
      if (role === 'system' && at === 0) return { role, content: content + told }
      if (role === 'tool') return { role: 'user', content: `<tool_response>\n${content}\n</tool_response>` }
      const calls = toolCalls.map(({ name, arguments: given, malformed }) => {
        if (malformed || typeof given === 'string')
          throw new Unusable('messages has a call without an object of arguments')
        return `<tool_call>\n${JSON.stringify({ name, arguments: given })}\n</tool_call>`
      })
      return { role, content: [...(content === '' ? [] : [content]), ...calls].join('\n') }
    }),
  ]
}

function conversationIn(sent: readonly unknown[]): readonly Message[] {
  try {
    return readConversation(sent)
  } catch (error) {
    if (error instanceof NoMessage) throw new Unusable('messages has something that is no message')
    throw error
  }
}

function cut(messages: readonly Message[]): { readonly prompt: readonly Message[]; readonly truth: string } {
  const last = messages.findLastIndex(({ role, content }) => role === 'assistant' && content.includes(call))
  const truth = messages[last]?.content
  if (truth === undefined) throw new Unusable('no assistant turn has a call')
  const prompt = messages.slice(0, last)
  if (!prompt.some(({ role }) => role === 'user'))
    throw new Unusable('there is no user turn before the last call')
  return { prompt, truth: truth.trim() }
}

const task = `You answer requests by calling functions. Call what the request needs, and nothing else. Where no function fits, or a
parameter is missing, say so. Write each call as JSON between <tool_call> and </tool_call>, without other text.`

/** Converts a published conversation with numbered turns to messages. Throws Unusable. */
export function messagesOfTurns(row: Fields): readonly Message[] {
  const turns = Object.keys(row)
    .filter((key) => /^\d{1,4}$/.test(key) && row[key])
    .map(Number)
    .sort((a, b) => a - b)
  return turns.map((number) => {
    const turn = row[String(number)]
    if (!isObject(turn)) throw new Unusable('a turn is not an object')
    if (number === 0) return { role: 'system', content: task + toolsText(turn.tools) }
    const { role, content } = turn
    if (typeof content !== 'string') throw new Unusable('a turn has no text')
    if (role === 'user') return { role, content }
    if (role === 'assistant') return { role, content: withoutThinking(content) }
    if (role === 'tool') return { role: 'user', content: responsesText(content) }
    throw new Unusable('a turn has an unknown role')
  })
}

function toolsText(tools: unknown): string {
  if (tools === undefined || tools === null || tools === '') return ''
  let list: unknown = tools
  try {
    if (typeof tools === 'string') list = JSON.parse(tools)
  } catch {
    throw new Unusable('the tools of the system turn are not JSON')
  }
  const lines = [list].flat().map((tool) => JSON.stringify(tool))
  return `\n\n# Tools\n\nThe functions, one a line, in JSON:\n<tools>\n${lines.join('\n')}\n</tools>\n
A call looks like this:\n<tool_call>\n{"name": <its name>, "arguments": <an object>}\n</tool_call>`
}

/** Converts Python calls to JSON blocks and removes the thinking. */
function withoutThinking(content: string): string {
  const end = content.lastIndexOf('</think>')
  const said = (end === -1 ? content : content.slice(end + '</think>'.length)).trim()
  if (!said.startsWith('[') || !said.endsWith(']')) return end === -1 ? content : said
  const calls = pythonCalls(said)
  if (calls === null || calls.length === 0) throw new Unusable('an assistant turn is not a list of calls')
  return calls
    .map(({ name, argumentsText }) => {
      const call = `{"name": ${JSON.stringify(name)}, "arguments": ${argumentsText}}`
      return `<tool_call>\n${call}\n</tool_call>`
    })
    .join('\n')
}

/** Reads a list of result objects in Python or JSON syntax. Of a failed call, only the error is kept. */
function responsesText(content: string): string {
  const literal = pythonLiteral(content)
  const results: unknown = literal === null ? null : JSON.parse(literal)
  if (!Array.isArray(results) || !results.every(isObject))
    throw new Unusable('a tool turn is not a list of results')
  return results
    .flatMap((result) => Object.values(result))
    .map((value) => `<tool_response>\n${resultText(value)}\n</tool_response>`)
    .join('\n')
}

function resultText(value: unknown): string {
  if (typeof value !== 'string') return JSON.stringify(value)
  if (!value.startsWith('Function call ') || !value.includes(' failed.')) return value
  const [, message] = value.split('Error:')
  return message === undefined ? value : JSON.stringify({ error: message.split('Stack trace:')[0]?.trim() })
}

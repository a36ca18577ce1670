import type { Message } from '../../core/sample/sample.ts'
import type { Fields } from '../dataset/fields.ts'
import { type Family, messagesOf, Unusable } from './family.ts'
import { messagesOfTurns } from './tool-turns.ts'

const call = '<tool_call>'

/** Function calls in several turns: the last turn that calls something is the answer, what stands before it the prompt. */
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

const messages = (row: Fields): readonly Message[] =>
  row.messages === undefined ? messagesOfTurns(row) : messagesOf(row.messages, 'messages')

function cut(messages: readonly Message[]): { readonly prompt: readonly Message[]; readonly truth: string } {
  const last = messages.findLastIndex(({ role, content }) => role === 'assistant' && content.includes(call))
  const truth = messages[last]?.content
  if (truth === undefined) throw new Unusable('no assistant turn holds a call')
  const prompt = messages.slice(0, last)
  if (!prompt.some(({ role }) => role === 'user'))
    throw new Unusable('no user turn stands before the last call')
  return { prompt, truth: truth.trim() }
}

import { finalAnswer } from '../../contract/index.ts'
import type { Message } from '../../core/sample/sample.ts'
import { type Fields, isObject } from '../dataset/row.ts'
import { type Family, messagesOf, type ParsedRow, textOf, Unusable } from './family.ts'

/** What both families train on: the answer of a last turn. Its text after the thinking is the reference. */
function rowOf(
  dataSource: string,
  prompt: readonly Message[],
  answers: { readonly gold: string; readonly nearMiss: string | null },
): ParsedRow {
  if (!prompt.some(({ role }) => role === 'user')) throw new Unusable('the prompt has no user turn')
  const groundTruth = finalAnswer({ prompt: '', response: answers.gold }).text
  if (groundTruth.trim() === '') throw new Unusable('the answer is blank')
  return { dataSource, prompt, groundTruth, extraInfo: {}, ...answers }
}

/** The roles of ShareGPT, by its own names. */
const roles: Readonly<Record<string, string>> = { human: 'user', gpt: 'assistant' }

/** Messages, or turns with `from` and `value` as in ShareGPT. */
function turnsIn(value: unknown, field: string): readonly Message[] {
  if (!Array.isArray(value)) return messagesOf(value, field)
  return messagesOf(
    value.map((turn: unknown) =>
      isObject(turn) && typeof turn.from === 'string'
        ? { role: Object.hasOwn(roles, turn.from) ? roles[turn.from] : turn.from, content: turn.value }
        : turn,
    ),
    field,
  )
}

/** The last turn, which must be the assistant's, and those before it. */
function answered(
  turns: readonly Message[],
  field: string,
): readonly [before: readonly Message[], text: string] {
  const last = turns.at(-1)
  if (last?.role !== 'assistant') throw new Unusable(`${field} does not end with a turn of the assistant`)
  return [turns.slice(0, -1), last.content]
}

/** One side of a pair: a text, or a conversation that ends with it. */
const sideOf = (
  row: Fields,
  field: 'chosen' | 'rejected',
): readonly [before: readonly Message[], text: string] =>
  typeof row[field] === 'string' ? [[], textOf(row, field)] : answered(turnsIn(row[field], field), field)

/** Rows of preferences: a better and a worse answer to one prompt, which may have several turns. */
export const pairs: Family = {
  name: 'pairs',
  source:
    '{"prompt", "chosen", "rejected"}; chosen and rejected are texts, or conversations that may hold the prompt',
  ability: 'chat',
  // Tells the chosen answer from the rejected one, no more.
  steps: [{ name: 'rule', function: 'exact-match' }],
  columns: { groundTruth: 'VARCHAR', extraInfo: {} },
  rmPrompts: 0,
  read(row, { dataSource = 'pairs' }) {
    const [before, gold] = sideOf(row, 'chosen')
    const [otherBefore, nearMiss] = sideOf(row, 'rejected')
    if (JSON.stringify(before) !== JSON.stringify(otherBefore))
      throw new Unusable('chosen and rejected answer different prompts')
    const prompt = before.length > 0 ? before : turnsIn(row.prompt, 'prompt')
    return rowOf(dataSource, prompt, { gold, nearMiss })
  },
}

/** Rows of whole conversations, of which the last turn is the answer. */
export const chat: Family = {
  name: 'chat',
  source: '{"messages"} or {"conversations"} of any number of turns, the last one the assistant\'s',
  ability: 'chat',
  steps: [{ name: 'rule', function: 'exact-match' }],
  columns: { groundTruth: 'VARCHAR', extraInfo: {} },
  rmPrompts: 0,
  read(row, { dataSource = 'chat' }) {
    const field = row.messages === undefined ? 'conversations' : 'messages'
    const [prompt, gold] = answered(turnsIn(row[field], field), field)
    return rowOf(dataSource, prompt, { gold, nearMiss: null })
  },
}

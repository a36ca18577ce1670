/** Reads a conversation: a list of chat messages, of the items of OpenAI's Responses API, or of both. */
import type { Message, Part, ToolCall } from '../../core/sample/sample.ts'
import {
  argumentsOf,
  type Fields,
  fieldOf,
  fieldsOf,
  jsonOf,
  NoMessage,
  type Place,
  readContent,
  readMessage,
  textField,
  ValueBudget,
} from './messages.ts'

/** More messages of one list are refused: no rollout has as many. */
const mostMessages = 4096

/**
 * Reads a list, in order and whole: what has a role is a message, anything else is an item. A call joins the turn of
 * the assistant that it follows, an output is a message of the tool. Linear. Throws NoMessage with the place of what is
 * neither.
 */
export function readConversation(list: readonly unknown[]): readonly Message[] {
  if (list.length > mostMessages)
    throw new NoMessage([mostMessages], `there are ${list.length} messages; at most ${mostMessages} are read`)
  const turns: Turns = { messages: [], open: null, budget: new ValueBudget() }
  for (let at = 0; at < list.length; at++) {
    const sent = fieldsOf(list[at], [at], 'a message')
    const type = fieldOf(sent, 'type')
    if (fieldOf(sent, 'role') === undefined && typeof type === 'string') addItem(turns, type, sent, [at])
    else addMessage(turns, readMessage(sent, [at], turns.budget))
  }
  return turns.messages.map((turn) => (turn instanceof ItemTurn ? turn.message() : turn))
}

interface Turns {
  readonly messages: (Message | ItemTurn)[]
  /** The assistant's turn that the next item may join. */
  open: ItemTurn | null
  readonly budget: ValueBudget
}

/** A turn of the assistant that is made of several items. */
class ItemTurn {
  readonly #reasoning: string[] = []
  readonly #calls: ToolCall[] = []
  /** Before and after the message. */
  readonly #before: Part[] = []
  readonly #after: Part[] = []
  #said: Message | null

  constructor(said: Message | null = null) {
    this.#said = said
  }

  /** Whether a message can still be its text. */
  get isBegun(): boolean {
    return this.#said === null && this.#calls.length === 0
  }

  say(said: Message): void {
    this.#said = said
  }

  think(text: string): void {
    this.#reasoning.push(text)
  }

  call(call: ToolCall): void {
    this.#calls.push(call)
  }

  add(part: Part): void {
    ;(this.#said ? this.#after : this.#before).push(part)
  }

  message(): Message {
    const said = this.#said ?? { role: 'assistant', content: '' }
    const reasoning = [...this.#reasoning, ...(said.reasoning === undefined ? [] : [said.reasoning])]
    const toolCalls = [...(said.toolCalls ?? []), ...this.#calls]
    const hasParts = this.#before.length + this.#after.length > 0
    const text: Part[] = said.content === '' ? [] : [{ type: 'text', text: said.content }]
    return {
      ...said,
      ...(hasParts && { parts: [...this.#before, ...(said.parts ?? text), ...this.#after] }),
      ...(toolCalls.length > 0 && { toolCalls }),
      ...(reasoning.length > 0 && { reasoning: reasoning.join('\n') }),
    }
  }
}

function addMessage(turns: Turns, message: Message): void {
  if (message.role === 'assistant' && turns.open?.isBegun) {
    turns.open.say(message)
    return
  }
  turns.messages.push(message)
  turns.open = null
}

/** The open turn of the assistant. A message of the assistant that came last is opened again. */
function turnOf(turns: Turns): ItemTurn {
  if (turns.open) return turns.open
  const last = turns.messages.at(-1)
  const isJoined = last !== undefined && !(last instanceof ItemTurn) && last.role === 'assistant'
  turns.open = new ItemTurn(isJoined ? last : null)
  if (isJoined) turns.messages[turns.messages.length - 1] = turns.open
  else turns.messages.push(turns.open)
  return turns.open
}

/** Reasoning begins a turn unless the turn is only reasoning so far. */
function thinkingTurnOf(turns: Turns): ItemTurn {
  if (turns.open?.isBegun) return turns.open
  turns.open = new ItemTurn()
  turns.messages.push(turns.open)
  return turns.open
}

const isOutput = (type: string): boolean => type.endsWith('_output')

function addItem(turns: Turns, type: string, sent: Fields, path: Place): void {
  switch (type) {
    case 'reasoning':
      thinkingTurnOf(turns).think(thoughtsOf(sent, path))
      return
    case 'function_call':
      turnOf(turns).call(callOf(sent, 'call_id', path, turns.budget))
      return
    case 'custom_tool_call':
      turnOf(turns).call(customCallOf(sent, path))
      return
    case 'function_call_output':
    case 'custom_tool_call_output':
      addResult(turns, sent, 'output', path)
      return
    case 'mcp_call':
      turnOf(turns).call(callOf(sent, 'id', path, turns.budget))
      for (const name of ['output', 'error'])
        if (fieldOf(sent, name) !== undefined) addResult(turns, sent, name, path)
      return
    default: {
      const part: Part = { type: 'other', name: type, value: jsonOf(withoutId(sent), path) }
      if (!isOutput(type)) turnOf(turns).add(part)
      else {
        turns.messages.push({ role: 'tool', content: '', parts: [part], ...answeredCall(sent, path) })
        turns.open = null
      }
    }
  }
}

/** An item's own id is drawn for each answer and would tell equal answers apart. */
function withoutId(sent: Fields): Fields {
  const { id: _id, status: _status, ...rest } = sent
  return rest
}

/** Summary and content of an item of reasoning, a line each. */
function thoughtsOf(sent: Fields, path: Place): string {
  const texts = ['summary', 'content'].map((name) => {
    const { text, reasoning } = readContent(fieldOf(sent, name), [...path, name])
    return `${reasoning}${text}`
  })
  return texts.filter((text) => text !== '').join('\n')
}

const nameOf = (sent: Fields): string => {
  const name = fieldOf(sent, 'name')
  return typeof name === 'string' ? name : ''
}

function callOf(sent: Fields, idName: string, path: Place, budget: ValueBudget): ToolCall {
  const id = textField(sent, idName, path)
  const name = nameOf(sent)
  const read = argumentsOf(fieldOf(sent, 'arguments'), path, budget)
  return {
    ...(id !== undefined && { id }),
    name,
    ...read,
    ...(name === '' && { malformed: true as const }),
  }
}

function customCallOf(sent: Fields, path: Place): ToolCall {
  const id = textField(sent, 'call_id', path)
  const input = textField(sent, 'input', path) ?? ''
  return { ...(id !== undefined && { id }), name: nameOf(sent), arguments: input }
}

function answeredCall(sent: Fields, path: Place): { readonly toolCallId?: string } {
  const id = textField(sent, 'call_id', path) ?? textField(sent, 'id', path)
  return id === undefined ? {} : { toolCallId: id }
}

function addResult(turns: Turns, sent: Fields, name: string, path: Place): void {
  const output = fieldOf(sent, name)
  const isContent = typeof output === 'string' || Array.isArray(output) || output === undefined
  const { text, parts } = isContent
    ? readContent(output, [...path, name])
    : { text: JSON.stringify(jsonOf(output, [...path, name])), parts: null }
  turns.messages.push({ role: 'tool', content: text, ...(parts && { parts }), ...answeredCall(sent, path) })
  turns.open = null
}

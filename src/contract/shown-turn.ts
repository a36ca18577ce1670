import { holdsImage } from '../core/sample/image.ts'
import { isBlank, type Message, type Part } from '../core/sample/sample.ts'

/** What a transcript shows besides the texts. */
export interface TranscriptOptions {
  /** The calls of tools. Default: true. */
  readonly tools?: boolean
  /** What came back from tools and the environment. Default: true. */
  readonly results?: boolean
  /** The policy's reasoning, where the trainer sent it apart. Default: false. */
  readonly reasoning?: boolean
}

/** A turn as messages of nothing but text and images: its reasoning, its content, its calls. */
export function shownTurn(
  turn: Message,
  { tools = true, reasoning = false }: TranscriptOptions = {},
): readonly Message[] {
  const shown: Message[] = []
  if (reasoning && turn.reasoning !== undefined) shown.push({ role: 'reasoning', content: turn.reasoning })
  const calls = tools ? (turn.toolCalls ?? []) : []
  const refusals = (turn.parts ?? []).flatMap(refusalIn)
  const { role, content, parts } = turn
  if (parts && holdsImage(turn)) shown.push({ role, content, parts: parts.filter(isShown) })
  else if (!isBlank(content) || calls.length + refusals.length === 0) shown.push({ role, content })
  for (const content of refusals) shown.push({ role: 'refusal', content })
  for (const { name, arguments: given } of calls) {
    const text = typeof given === 'string' ? given : JSON.stringify(given)
    shown.push({ role: 'tool_call', content: name === '' ? text : `${name}(${text})` })
  }
  return shown
}

const isShown = ({ type }: Part): boolean => type === 'text' || type === 'image'

const refusalIn = (part: Part): readonly string[] => (part.type === 'refusal' ? [part.text] : [])

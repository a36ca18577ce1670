import type { FaultKind } from './faults.ts'

type Reply = Record<string, unknown>
type Choice = Record<string, unknown> & { message?: Record<string, unknown> }

/** Turns a good reply into the reply of a faulty server, as JSON text; other faults leave it as it is. */
export function corrupt(kind: FaultKind | null, json: object): string {
  const reply = json as Reply
  switch (kind) {
    case 'error-body':
      return JSON.stringify({
        error: { message: 'Internal server error', type: 'InternalServerError', param: null, code: 500 },
      })
    case 'empty-choices':
      return JSON.stringify(withLists(reply, () => []))
    case 'wrong-type':
      return JSON.stringify(withLists(reply, (list) => list.map((item) => retyped(item as Choice))))
    case 'nan':
      return JSON.stringify(withLists(reply, (list) => list.map((item) => notANumber(item as Choice))))
        .replaceAll('"\u0000NaN"', 'NaN')
        .replaceAll('"\\u0000NaN"', 'NaN')
    case 'wrong-model':
      return JSON.stringify(
        withLists(reply, (list) => list.map((item) => ({ ...(item as object), id: 'another-model' }))),
      )
    case 'length':
      return JSON.stringify(withChoices(reply, halved))
    case 'null-content':
      return JSON.stringify(
        withChoices(reply, (choice) => say(choice, { content: null, reasoning_content: '1' })),
      )
    case 'refusal':
      return JSON.stringify(
        withChoices(reply, (choice) => say(choice, { content: "I'm sorry, I can't help with that." })),
      )
    case 'tool-call':
      return JSON.stringify(withChoices(reply, toolCall))
    default:
      return JSON.stringify(reply)
  }
}

/** Applies `change` to every list of results: `choices`, `data`, `results`. */
function withLists(reply: Reply, change: (list: readonly unknown[]) => readonly unknown[]): Reply {
  const changed = Object.entries(reply).map(([key, value]) => [
    key,
    Array.isArray(value) ? change(value) : value,
  ])
  return Object.fromEntries(changed) as Reply
}

function withChoices(reply: Reply, change: (choice: Choice) => Choice): Reply {
  return Array.isArray(reply.choices) ? { ...reply, choices: (reply.choices as Choice[]).map(change) } : reply
}

/** Sets what a choice says: `content` becomes `text` where it is a plain completion. */
function say(choice: Choice, change: Record<string, unknown>): Choice {
  return choice.message
    ? { ...choice, message: { ...choice.message, ...change } }
    : { ...choice, text: change.content }
}

function retyped(item: Choice): Choice {
  if (item.message || 'text' in item) return say(item, { content: 1 })
  return mapNumbers(item, () => 'high') as Choice
}

/** Python's json writes NaN as a bare word; the mark is replaced once the text is made. */
function notANumber(item: Choice): Choice {
  if (item.message || 'text' in item) return say(item, { content: 'Score: NaN' })
  return mapNumbers(item, () => '\u0000NaN') as Choice
}

function mapNumbers(value: unknown, change: () => unknown): unknown {
  if (typeof value === 'number') return change()
  if (Array.isArray(value)) return value.map((item) => mapNumbers(item, change))
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([key, item]) => [
    key,
    key === 'index' || key === 'num_classes' ? item : mapNumbers(item, change),
  ])
  return Object.fromEntries(entries)
}

function halved(choice: Choice): Choice {
  const text = String(choice.message?.content ?? choice.text ?? '')
  const half = text.slice(0, Math.floor(text.length / 2))
  return { ...say(choice, { content: half }), finish_reason: 'length' }
}

function toolCall(choice: Choice): Choice {
  const call = { id: 'call-1', type: 'function', function: { name: 'grade', arguments: '{"score": 1}' } }
  return { ...say(choice, { content: null, tool_calls: [call] }), finish_reason: 'tool_calls' }
}

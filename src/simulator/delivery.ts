import type { ServerResponse } from 'node:http'
import { spoiledRun } from './api/sandbox.ts'
import type { Reply, ReplyEvent } from './call.ts'
import type { FaultKind, InjectedFault } from './faults.ts'
import { Refusal, unknownModel } from './refusal.ts'

type Payload = Record<string, unknown>
type Choice = Record<string, unknown> & { message?: Record<string, unknown> }

/** Turns a good reply into a faulty server's reply, as JSON text. Other faults leave it unchanged. */
function corrupt(kind: FaultKind | null, json: object): string {
  const reply = json as Payload
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
    case 'sandbox-error':
    case 'half-output':
      return JSON.stringify(spoiledRun(kind, reply))
    case 'half-json': {
      const whole = JSON.stringify(reply)
      return whole.slice(0, whole.length / 2)
    }
    default:
      return JSON.stringify(reply)
  }
}

/** Applies `change` to every list of results: `choices`, `data`, `results`. */
function withLists(reply: Payload, change: (list: readonly unknown[]) => readonly unknown[]): Payload {
  const changed = Object.entries(reply).map(([key, value]) => [
    key,
    Array.isArray(value) ? change(value) : value,
  ])
  return Object.fromEntries(changed) as Payload
}

function withChoices(reply: Payload, change: (choice: Choice) => Choice): Payload {
  return Array.isArray(reply.choices) ? { ...reply, choices: (reply.choices as Choice[]).map(change) } : reply
}

/** Sets a choice's content. `content` becomes `text` in a plain completion. */
function say(choice: Choice, change: Record<string, unknown>): Choice {
  return choice.message
    ? { ...choice, message: { ...choice.message, ...change } }
    : { ...choice, text: change.content }
}

function retyped(item: Choice): Choice {
  if (item.message || 'text' in item) return say(item, { content: 1 })
  return mapNumbers(item, () => 'high') as Choice
}

/** Python's json writes NaN as a bare word. A mark is replaced after serialisation. */
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

/** Refusals by faults that apply before the model is asked. */
export function immediateRefusal(fault: InjectedFault | null, requested: unknown): Refusal | null {
  switch (fault?.kind) {
    case '500':
      return new Refusal(500, 'InternalServerError', 'EngineCore encountered an issue.')
    case '503':
      return new Refusal(503, 'Service Unavailable', 'The server is overloaded or not ready.')
    case '429':
      return new Refusal(429, 'Too Many Requests', 'Too many requests.')
    case 'wrong-model':
      return requested === undefined ? null : unknownModel(String(requested))
    default:
      return null
  }
}

/** How a reply is sent. */
interface Manner {
  readonly fault: InjectedFault | null
  /** Null unless a hang delays the rest. Throws Gone if the reply is dropped. */
  readonly held: () => Promise<void> | null
  /** Throws Gone if nobody waits any more. Without a time, waits until then. */
  readonly pause: (ms: number | undefined) => Promise<void>
}

/** Sends the whole reply at once. */
export const usual: Manner = { fault: null, held: () => null, pause: () => Promise.resolve() }

/** Sends a reply, whole or as the fault demands. Resolves when nothing more will be written. */
export async function deliver(response: ServerResponse, reply: Reply, manner: Manner): Promise<void> {
  if (response.destroyed) return
  const { fault } = manner
  const kind = fault?.kind ?? null
  if ('events' in reply) return deliverEvents(response, reply.events, manner)
  const isJson = 'json' in reply
  const text = kind === 'garbage' ? garbage : isJson ? corrupt(kind, reply.json) : reply.text
  const type = isJson ? 'application/json' : (reply.type ?? 'text/plain; charset=utf-8')
  const headers = { 'content-type': type, 'content-length': Buffer.byteLength(text) }
  response.writeHead(reply.status ?? 200, headers)
  // A string goes out in one write with its headers; bytes would take two.
  if (!breaksOff(fault)) return void response.end(text, reply.sent)
  const half = Math.ceil(text.length / 2)
  if (await breakOff(response, text.slice(0, half), fault, manner)) response.end(text.slice(half), reply.sent)
}

const garbage = '<html><body>\u0000\u0001 {"choices": [[[ \ufffd'

const breaksOff = (fault: InjectedFault | null): fault is InjectedFault =>
  fault?.kind === 'half-body' || fault?.kind === 'stall'

/**
 * Sends the start of a reply, then closes the connection or stays silent. Returns whether the rest should
 * follow.
 */
async function breakOff(
  response: ServerResponse,
  head: string,
  { kind, ms, recovery }: InjectedFault,
  { pause }: Manner,
): Promise<boolean> {
  await new Promise<void>((resolve) => {
    if (head === '') response.flushHeaders()
    response.write(head, () => resolve())
  })
  if (kind === 'stall') await pause(ms)
  if (kind === 'stall' && recovery !== 'drop') return true
  response.destroy()
  return false
}

async function deliverEvents(
  response: ServerResponse,
  events: AsyncIterable<ReplyEvent>,
  manner: Manner,
): Promise<void> {
  const { fault, held } = manner
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' })
  if (fault?.kind === 'garbage') return void response.end(garbage)
  if (fault?.kind === 'error-body') return void response.end(`data: ${corrupt(fault.kind, {})}\n\n`)
  let sent = 0
  let tokens = 0
  let isBroken = !breaksOff(fault)
  for await (const event of events) {
    await held()
    const block = `data: ${event.data}\n\n`
    const isHere = fault?.tokens === undefined ? sent === 1 : tokens >= fault.tokens
    const cut = fault?.tokens === undefined ? 'data: {"id'.length : 0
    if (!isBroken && fault && isHere) {
      isBroken = true
      if (!(await breakOff(response, block.slice(0, cut), fault, manner))) return
      response.write(block.slice(cut))
    } else response.write(block)
    sent += 1
    tokens += event.tokens
  }
  response.end()
}

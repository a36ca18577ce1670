import type { ServerResponse } from 'node:http'
import type { Reply } from './call.ts'
import { corrupt } from './corruption.ts'
import type { Fault, FaultKind } from './faults.ts'
import { Refusal, unknownModel } from './refusal.ts'

/** Faults that need no model: the reply is known before it is asked. */
export function immediateRefusal(fault: Fault | null, requested: unknown): Refusal | null {
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

/** Sends a reply whole, or as the fault wants it. Resolves when nothing more will be written. */
export async function deliver(response: ServerResponse, reply: Reply, kind: FaultKind | null): Promise<void> {
  if ('events' in reply) return deliverEvents(response, reply.events, kind)
  const isJson = 'json' in reply
  const text = kind === 'garbage' ? garbage : isJson ? corrupt(kind, reply.json) : reply.text
  const type = isJson ? 'application/json' : (reply.type ?? 'text/plain; charset=utf-8')
  const headers = { 'content-type': type, 'content-length': Buffer.byteLength(text) }
  response.writeHead(reply.status ?? 200, headers)
  const isCut = kind === 'half-body' || kind === 'stall'
  // A string goes out in one write with its headers, bytes would take two.
  if (!isCut) return void response.end(text)
  cutOff(response, text.slice(0, Math.ceil(text.length / 2)), kind)
}

const garbage = '<html><body>\u0000\u0001 {"choices": [[[ \ufffd'

/** `half-body` ends the connection after the last byte is out; `stall` leaves it open in silence. */
function cutOff(response: ServerResponse, text: string, kind: FaultKind): void {
  response.write(text, () => {
    if (kind === 'half-body') response.destroy()
  })
}

async function deliverEvents(
  response: ServerResponse,
  events: AsyncIterable<string>,
  kind: FaultKind | null,
): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' })
  if (kind === 'garbage') return void response.end(garbage)
  if (kind === 'error-body') return void response.end(`data: ${corrupt(kind, {})}\n\n`)
  let sent = 0
  for await (const event of events) {
    sent += 1
    if (sent === 2 && (kind === 'half-body' || kind === 'stall')) return cutOff(response, 'data: {"id', kind)
    response.write(`data: ${event}\n\n`)
  }
  response.end()
}

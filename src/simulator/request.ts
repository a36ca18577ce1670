import type { IncomingMessage } from 'node:http'
import type { Call } from './call.ts'
import { madeId } from './identity.ts'
import { badRequest } from './refusal.ts'

/** All bytes of a request; there is no limit, as in the servers that it stands for. */
export async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)
}

/** The JSON object of a body, {} for none; throws a Refusal (400) for anything else. */
export function parseBody(bytes: Buffer): Readonly<Record<string, unknown>> {
  if (bytes.length === 0) return {}
  let body: unknown
  try {
    body = JSON.parse(bytes.toString())
  } catch {
    throw badRequest('The body is not JSON.')
  }
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw badRequest('The body is not an object.')
  return body as Record<string, unknown>
}

/** What /abort_requests and /abort_request know a request by. */
export function requestId(request: IncomingMessage, body: Call['body']): string {
  const given = request.headers['x-request-id'] ?? body.request_id ?? body.rid
  return typeof given === 'string' ? given : madeId('request')
}

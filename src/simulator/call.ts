import type { SimulatedModel, Slowdown, Wanted } from './model.ts'
import { badRequest, unknownModel } from './refusal.ts'

let made = 0

/** An id in the server's style, unique in this process. */
export function madeId(prefix: string): string {
  made += 1
  return `${prefix}-${made.toString(16).padStart(12, '0')}`
}

/** Unix time in seconds, as in `created` fields. */
export function createdNow(): number {
  return Math.floor(Date.now() / 1000)
}

/** An HTTP request during its processing. */
export interface Call extends Wanted {
  readonly model: SimulatedModel
  readonly body: Readonly<Record<string, unknown>>
  readonly path: string
  readonly query: URLSearchParams
  readonly slowdown: Slowdown
}

/** A server-sent event. `data` is JSON text, `tokens` is the number of tokens in it. */
export interface ReplyEvent {
  readonly data: string
  readonly tokens: number
}

/** The reply. `sent` is called after it was written. */
export type Reply =
  | { readonly json: object; readonly status?: number; readonly sent?: () => void }
  | { readonly text: string; readonly status?: number; readonly type?: string; readonly sent?: () => void }
  | { readonly events: AsyncIterable<ReplyEvent> }

/** Throws a Refusal for invalid requests, and Gone if nobody waits. */
export type Endpoint = (call: Call) => Reply | Promise<Reply>

/** Refuses a request for another model. A request without a model is accepted. */
export function requireModel({ model, body }: Call): void {
  if (body.model !== undefined && body.model !== null && body.model !== model.name) {
    throw unknownModel(String(body.model))
  }
}

/** Reads a field that holds a text or a list of texts. Throws 400 for anything else. */
export function readTexts(value: unknown, param: string): string[] {
  if (typeof value === 'string') return [value]
  const isList = Array.isArray(value) && value.length > 0 && value.every((item) => typeof item === 'string')
  if (!isList) throw badRequest(`${param} must be a string or a list of strings`, param)
  return value as string[]
}

/** Reads a finite number, or the fallback if the field is absent or null. Throws 400 for anything else. */
export function readNumberField(body: Call['body'], name: string, fallback: number): number {
  const value = body[name] ?? fallback
  if (typeof value !== 'number' || !Number.isFinite(value)) throw badRequest(`${name} must be a number`, name)
  return value
}

import type { SimulatedModel, Slowdown, Wanted } from './model.ts'
import { badRequest, unknownModel } from './refusal.ts'

let made = 0

/** An id in the manner of the server: unique in this process. */
export function madeId(prefix: string): string {
  made += 1
  return `${prefix}-${made.toString(16).padStart(12, '0')}`
}

/** Seconds since 1970, as `created` fields hold. */
export function createdNow(): number {
  return Math.floor(Date.now() / 1000)
}

/** One HTTP request on its way through an endpoint. */
export interface Call extends Wanted {
  readonly model: SimulatedModel
  readonly body: Readonly<Record<string, unknown>>
  readonly path: string
  readonly query: URLSearchParams
  readonly slowdown: Slowdown
}

/** One server-sent event, `data` already JSON text; `tokens` that it brings. */
export interface ReplyEvent {
  readonly data: string
  readonly tokens: number
}

/** What goes back; `sent` is called once it has gone out. */
export type Reply =
  | { readonly json: object; readonly status?: number; readonly sent?: () => void }
  | { readonly text: string; readonly status?: number; readonly type?: string; readonly sent?: () => void }
  | { readonly events: AsyncIterable<ReplyEvent> }

/** Throws a Refusal for what is wrong, Gone where nobody waits. */
export type Endpoint = (call: Call) => Reply | Promise<Reply>

/** Refuses a request for another model; a request that names none is for this one. */
export function requireModel({ model, body }: Call): void {
  if (body.model !== undefined && body.model !== null && body.model !== model.name) {
    throw unknownModel(String(body.model))
  }
}

/** A list of texts from a field that may hold one text; throws 400 for anything else. */
export function readTexts(value: unknown, param: string): string[] {
  if (typeof value === 'string') return [value]
  const isList = Array.isArray(value) && value.length > 0 && value.every((item) => typeof item === 'string')
  if (!isList) throw badRequest(`${param} must be a string or a list of strings`, param)
  return value as string[]
}

/** A finite number of the body, or the fallback where the field is absent or null; throws 400 for anything else. */
export function readNumberField(body: Call['body'], name: string, fallback: number): number {
  const value = body[name] ?? fallback
  if (typeof value !== 'number' || !Number.isFinite(value)) throw badRequest(`${name} must be a number`, name)
  return value
}

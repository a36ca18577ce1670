import type { ServiceBatch, ServiceRequest } from '../../../contract/index.ts'
import { memoizeByObject } from '../../../core/memoize.ts'
import type { Json } from '../../../core/sample/sample.ts'
import { type Pointer, readPointer, valueAt } from '../../../grading/json/pointer.ts'
import type { RenderedInput } from '../interface/ask.ts'
import type { ModelConfig } from '../interface/model-config.ts'
import { isObject, malformedReply } from '../transport/reply.ts'
import { UpstreamError } from '../transport/upstream-error.ts'
import type { Backend } from './backend.ts'

/** Any HTTP service that takes JSON and answers JSON. The reward function says what the reply must hold. */
export function serviceBackend({ service }: ModelConfig): Backend {
  const { path, health, idempotent } = service ?? { path: '/', health: '', idempotent: false }
  return {
    healthPath: health,
    modelsPath: '',
    namesModels: false,
    tokenCounters: [],
    queueMetrics: null,
    memory: null,
    generativeScoring: null,
    tokens: null,
    ping: { method: 'GET', path: health, body: null },
    isIdempotent: idempotent,
    translate(ask, input) {
      if (ask !== 'service') throw unknownAsk
      return { path, body: (input as RenderedInput['service']).json }
    },
    read: (_ask, reply, input) => answered(loneReply(reply as Json, input as ServiceRequest)),
    batchKey: (_ask, input) => batchKeyOf(input as ServiceRequest),
    translateBatch: (_ask, inputs) => ({ path, body: sharedBody(inputs as readonly ServiceRequest[]) }),
    readBatch: (_ask, reply, inputs) =>
      ownReplies(reply as Json, inputs as readonly ServiceRequest[]).map((own) =>
        own instanceof UpstreamError ? own : answered(own),
      ),
  }
}

const answered = (reply: Json) => ({ answer: { reply } as never, prompt: 0, completion: 0 })

const unknownAsk = new UpstreamError('judge_rejected', 'a service answers no questions to models', {
  remedy: 'give-up',
  blame: false,
})

/** Requests to a service that become one: their bodies have a list with one entry each, and are equal but for it. */

/** Characters of the longest body that shares a request, and of all that do: reading and writing so many takes some milliseconds. */
const longestShared = 32_768
const longestTogether = 1_048_576

/** What a reply may hold beside its list, as JSON text: each answer gets a copy. */
const longestRest = 16_384

interface Sharing {
  readonly batch: ServiceBatch
  readonly item: Json
  /** The body with an empty list. */
  readonly rest: Json
  /** Equal for requests that may become one. */
  readonly key: string
}

type Batched = ServiceRequest & { readonly batch: ServiceBatch }

/** null: too long to be shared. Throws UpstreamError if the body has no list of one entry. */
const sharingOf = memoizeByObject(({ json, batch }: Batched): Sharing | { readonly batch: null } => {
  if (json.length > Math.min(longestShared, longestTogether / batch.max)) return { batch: null }
  const body = JSON.parse(json) as Json
  const list = valueAt(body, pointerOf(batch.items))
  const [item] = Array.isArray(list) ? (list as readonly Json[]) : []
  const isEntry = batch.key === undefined || isObject(item)
  if (!Array.isArray(list) || list.length !== 1 || item === undefined || !isEntry)
    throw new UpstreamError(
      'judge_rejected',
      `the request has no list of one ${batch.key === undefined ? 'entry' : 'object'} at ${batch.items}, where batch.items leads`,
      { remedy: 'give-up', blame: false },
    )
  const rest = withValueAt(body, pointerOf(batch.items), [])
  return { batch, item, rest, key: JSON.stringify([batch, rest]) }
})

const isBatched = (request: ServiceRequest): request is Batched => request.batch !== undefined

/** Equal for requests that may become one; null: this one is sent alone. Throws UpstreamError. */
function batchKeyOf(request: ServiceRequest): string | null {
  if (!isBatched(request)) return null
  const sharing = sharingOf(request)
  return sharing.batch === null ? null : sharing.key
}

/** The body of requests with one batch key: the first one's with all entries, each with its number in `key`. */
function sharedBody(requests: readonly ServiceRequest[]): string {
  const all = requests.map((request) => sharingOf(request as Batched) as Sharing)
  const [{ batch, rest }] = all as [Sharing]
  const items = all.map(({ item }, at) => (batch.key === undefined ? item : numbered(item, batch.key, at)))
  return JSON.stringify(withValueAt(rest, pointerOf(batch.items), items))
}

/** An entry with its number, as a number if it had one there, else as a text. */
function numbered(item: Json, key: string, at: number): Json {
  const own = item as Readonly<Record<string, Json>>
  const number = Object.hasOwn(own, key) && typeof own[key] === 'number' ? at : String(at)
  return Object.fromEntries([...Object.entries(own).filter(([name]) => name !== key), [key, number]])
}

/** The reply to a request that was sent alone: one entry, with the request's own key if that has one. Throws UpstreamError. */
function loneReply(reply: Json, request: ServiceRequest): Json {
  if (!isBatched(request)) return reply
  const { key, reply: place } = request.batch
  const pointer = pointerOf(place)
  const [entry] = listAt(reply, pointer, 1)
  checkRest(reply, pointer)
  const wanted = key === undefined ? null : loneKey(request, key)
  if (key !== undefined && wanted !== null && keyIn(entry, key) !== wanted)
    throw malformedReply(`no entry has the ${key} of this request's`)
  return reply
}

/** The key of a request's only entry; null: it has none, or is too long to be read again. */
function loneKey(request: Batched, key: string): string | null {
  const sharing = sharingOf(request)
  if (sharing.batch !== null) return keyIn(sharing.item, key)
  if (request.json.length > longestTogether) return null
  const list = valueAt(JSON.parse(request.json) as Json, pointerOf(request.batch.items))
  return Array.isArray(list) ? keyIn(list[0] as Json | undefined, key) : null
}

/** What an entry has under its key, as text; null: no number and no text. */
function keyIn(entry: Json | undefined, key: string): string | null {
  const value = isObject(entry) && Object.hasOwn(entry, key) ? entry[key] : undefined
  return typeof value === 'string' || typeof value === 'number' ? String(value) : null
}

/**
 * For each request the reply with its own entry in the list, found by `key`, else by its place. An UpstreamError for a request
 * whose entry is missing. Throws UpstreamError for a list of another length and for a key that stands twice: then no entry
 * is certain.
 */
function ownReplies(reply: Json, requests: readonly ServiceRequest[]): readonly (Json | UpstreamError)[] {
  const { batch } = sharingOf(requests[0] as Batched) as Sharing
  const pointer = pointerOf(batch.reply)
  const list = listAt(reply, pointer, requests.length)
  const bare = checkRest(reply, pointer)
  const own = (entry: Json): Json => withValueAt(bare, pointer, [entry])
  if (batch.key === undefined) return list.map(own)
  const byKey = new Map<string, Json>()
  for (const entry of list) {
    const number = keyIn(entry, batch.key)
    if (number === null) continue
    if (byKey.has(number)) throw malformedReply(`two entries have the same ${batch.key}`)
    byKey.set(number, entry)
  }
  return requests.map((_request, at) => {
    const entry = byKey.get(String(at))
    return entry === undefined
      ? malformedReply(`no entry has the ${batch.key} of this request's`)
      : own(entry)
  })
}

function listAt(reply: Json, pointer: Pointer, length: number): readonly Json[] {
  const list = valueAt(reply, pointer)
  if (!Array.isArray(list)) throw malformedReply('it has no list where batch.reply leads')
  if (list.length !== length) throw malformedReply(`${list.length} entries for ${length} requests`)
  return list as readonly Json[]
}

/** The reply with an empty list. Throws UpstreamError if there is too much beside it. */
function checkRest(reply: Json, pointer: Pointer): Json {
  const rest = withValueAt(reply, pointer, [])
  if (JSON.stringify(rest).length > longestRest)
    throw malformedReply(`more than ${longestRest} characters stand beside the list of entries`)
  return rest
}

const pointerOf = (text: string): Pointer => readPointer(text) ?? []

/** A copy with another value at a place that exists. */
function withValueAt(value: Json, [part, ...rest]: Pointer, replacement: Json): Json {
  if (part === undefined) return replacement
  if (Array.isArray(value))
    return (value as readonly Json[]).map((item, at) =>
      String(at) === part ? withValueAt(item, rest, replacement) : item,
    )
  // Object.fromEntries defines names such as __proto__ instead of setting them.
  return Object.fromEntries(
    Object.entries(value as Readonly<Record<string, Json>>).map(([name, item]) => [
      name,
      name === part ? withValueAt(item, rest, replacement) : item,
    ]),
  )
}

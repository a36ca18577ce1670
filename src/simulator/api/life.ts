import type { Call, Endpoint } from '../call.ts'
import { abortedByRequest, type SimulatedModel } from '../model.ts'
import { badRequest, Refusal } from '../refusal.ts'

/**
 * POST /sleep?level=1|2&mode=abort|wait|keep (vLLM's entrypoints/serve/sleep): what runs is aborted, finished or kept
 * running; what comes later waits until the server is woken.
 */
export const sleep: Endpoint = async (call) => {
  const mode = call.query.get('mode') ?? 'abort'
  if (!['0', '1', '2'].includes(call.query.get('level') ?? '1'))
    throw badRequest('level must be 0, 1 or 2', 'level')
  await fallAsleep(call, mode)
  if (call.query.get('level') === '2') call.model.weights = 'garbage'
  return { text: '' }
}

/** POST /wake_up?tags=weights&tags=kv_cache; awake once both are back, or at once without tags. */
export const wakeUp: Endpoint = async (call) => {
  await wake(call, call.query.getAll('tags'))
  return { text: '' }
}

/**
 * POST /collective_rpc `{"method": "reload_weights"}`: what sleep at level 2 has dropped is back, once the memory for it
 * is; other methods do nothing.
 */
export const collectiveRpc: Endpoint = ({ model, body }) => {
  if (typeof body.method !== 'string') throw badRequest("Missing 'method' in request body", 'method')
  if (body.method === 'reload_weights') {
    if (model.missing.has('weights')) {
      throw new Refusal(500, 'InternalServerError', 'CUDA error: an illegal memory access was encountered')
    }
    model.weights = 'sound'
  }
  return { json: { results: [null] } }
}

/** GET /is_sleeping. */
export const isSleeping: Endpoint = ({ model }) => ({ json: { is_sleeping: model.isSleeping } })

async function fallAsleep({ model, signal }: Call, mode: string): Promise<void> {
  if (model.isSleeping) return
  model.isSleeping = true
  model.counters.sleeps += 1
  model.capacity.paused = true
  if (mode === 'abort') abortRequests(model, [...model.inFlight.keys()])
  if (mode === 'wait') await model.capacity.idle()
  model.cache.clear()
  model.missing = new Set(['weights', 'kv_cache'])
  await model.pause(model.options.sleepMs ?? 0, signal)
}

/** Takes memory again; no tags: all of it. */
async function wake({ model, signal }: Call, tags: readonly string[]): Promise<void> {
  if (!model.isSleeping) return
  await model.pause(model.options.sleepMs ?? 0, signal)
  for (const tag of tags.length === 0 ? [...model.missing] : tags) model.missing.delete(tag)
  if (model.missing.size > 0) return
  model.isSleeping = false
  model.counters.wakes += 1
  model.capacity.paused = false
}

/** POST /abort_requests `{"request_ids": [...]}`: they end with finish_reason `abort`. */
export const abortByIds: Endpoint = ({ model, body }) => {
  const { request_ids: ids } = body
  if (!Array.isArray(ids)) throw badRequest("Missing 'request_ids' in request body", 'request_ids')
  abortRequests(model, ids.map(String))
  return { text: '' }
}

/** POST /abort_request `{"rid": "..."}` or `{"abort_all": true}`, SGLang's way. */
export const abortOne: Endpoint = ({ model, body }) => {
  abortRequests(model, body.abort_all === true ? [...model.inFlight.keys()] : [String(body.rid ?? '')])
  return { text: '' }
}

/** POST /reset_prefix_cache. */
export const resetPrefixCache: Endpoint = ({ model }) => {
  model.cache.clear()
  return { text: '' }
}

/** Ends requests with finish_reason `abort`. */
export function abortRequests(model: SimulatedModel, ids: readonly string[]): void {
  for (const id of ids) model.inFlight.get(id)?.abort(abortedByRequest)
}

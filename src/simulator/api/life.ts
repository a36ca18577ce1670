import { within } from '../../core/clock.ts'
import type { Call, Endpoint } from '../call.ts'
import { abortedByRequest, type SimulatedModel } from '../model.ts'
import { badRequest, Refusal } from '../refusal.ts'

/**
 * POST /sleep?level=1|2&mode=abort|wait|keep (vLLM's entrypoints/serve/sleep): running requests are aborted,
 * finished or kept running. Later requests wait until the server wakes up.
 */
export const sleep: Endpoint = async (call) => {
  const mode = call.query.get('mode') ?? 'abort'
  if (!['0', '1', '2'].includes(call.query.get('level') ?? '1'))
    throw badRequest('level must be 0, 1 or 2', 'level')
  await fallAsleep(call, mode)
  if (call.query.get('level') === '2') call.model.weights = 'garbage'
  return { text: '' }
}

/** POST /wake_up?tags=weights&tags=kv_cache: awake once both are back, or at once without tags. */
export const wakeUp: Endpoint = async (call) => {
  await wake(call, call.query.getAll('tags'))
  return { text: '' }
}

/**
 * POST /collective_rpc `{"method": "reload_weights"}`: restores what level 2 sleep dropped, once its memory
 * is back. Other methods do nothing.
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

/** Reacquires memory. Without tags: all of it. */
async function wake({ model, signal }: Call, tags: readonly string[]): Promise<void> {
  if (!model.isSleeping) return
  await model.pause(model.options.sleepMs ?? 0, signal)
  for (const tag of tags.length === 0 ? [...model.missing] : tags) model.missing.delete(tag)
  if (model.missing.size > 0) return
  model.isSleeping = false
  model.counters.wakes += 1
  model.capacity.paused = false
}

/** POST /abort_requests `{"request_ids": [...]}`: the requests end with finish_reason `abort`. */
export const abortByIds: Endpoint = ({ model, body }) => {
  const { request_ids: ids } = body
  if (!Array.isArray(ids)) throw badRequest("Missing 'request_ids' in request body", 'request_ids')
  abortRequests(model, ids.map(String))
  return { text: '' }
}

/** POST /abort_request `{"rid": "..."}` or `{"abort_all": true}`, as in SGLang. */
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
function abortRequests(model: SimulatedModel, ids: readonly string[]): void {
  for (const id of ids) model.inFlight.get(id)?.abort(abortedByRequest)
}

/** SGLang's life cycle: pause, memory, cache and weights. */

const done = { text: 'null', type: 'application/json' }

/**
 * POST /pause_generation: later requests wait for /continue_generation. `mode: abort`, the default, ends
 * running requests with finish_reason `abort`. With `in_place` and `retract` they continue here, while a real
 * server halts them.
 */
export const pauseGeneration: Endpoint = async ({ model, body }) => {
  model.sglang.pause()
  if ((body.mode ?? 'abort') === 'abort') {
    abortRequests(model, [...model.inFlight.keys()])
    await model.capacity.idle()
  }
  return { json: { message: 'Generation paused successfully.', status: 'ok' } }
}

/** POST /continue_generation. */
export const continueGeneration: Endpoint = ({ model }) => {
  model.sglang.continue()
  return { json: { message: 'Generation continued successfully.', status: 'ok' } }
}

/** POST /release_memory_occupation, with `tags` or for all memory. The server must be idle. */
export const releaseMemory: Endpoint = async ({ model, body, signal }) => {
  model.sglang.release(tagsOf(body))
  await model.pause(model.options.sleepMs ?? 0, signal)
  return done
}

/** POST /resume_memory_occupation, with `tags` or for all memory. The memory must be released. */
export const resumeMemory: Endpoint = async ({ model, body, signal }) => {
  await model.pause(model.options.sleepMs ?? 0, signal)
  model.sglang.resume(tagsOf(body))
  return done
}

const tagsOf = ({ tags }: Call['body']): string[] => (Array.isArray(tags) ? tags.map(String) : [])

/** /flush_cache: refused while requests run or wait. */
export const flushCache: Endpoint = ({ model }) => {
  const isBusy = model.capacity.running + model.capacity.waiting > 0
  if (!isBusy) model.cache.clear()
  const text =
    'Cache flushed.\nPlease check backend logs for more details. ' +
    '(When there are running or waiting requests, the operation will not be performed.)\n'
  return { text, status: isBusy ? 400 : 200 }
}

/**
 * POST /update_weights_from_disk `{"model_path": "..."}`: restores lost weights. A real server was seen to
 * list the new path in /v1/models afterwards. That it dies if the weights are released is inferred from its
 * behaviour on questions.
 */
export const updateWeightsFromDisk: Endpoint = ({ model, body }) => {
  const isOwn = body.model_path === model.path
  if (isOwn && model.sglang.released.has('weights')) model.sglang.touch()
  if (isOwn) {
    model.weights = 'sound'
    model.listedAs = model.path
  }
  const message = isOwn
    ? 'Succeeded to update model weights.'
    : `Failed to get model config: ${String(body.model_path)}.`
  return {
    json: { success: isOwn, message, num_paused_requests: 0 },
    status: isOwn ? 200 : 400,
  }
}

/** SGLANG_HEALTH_CHECK_TIMEOUT. */
const healthTimeoutMs = 20_000

/** GET /health_generate, and /health of SGLang: generates one token. 503 if none comes. */
export const healthGenerate: Endpoint = async ({ model, signal, held }) => {
  const late = new AbortController()
  const call = { signal: AbortSignal.any([signal, late.signal]), held }
  const token = { readMs: 0, firstMs: 0, restMs: 0, tokens: 1, written: 1, finishReason: 'length' }
  const isWell = await within(model.clock, healthTimeoutMs, model.run(call, token))
  if (!isWell) late.abort('late')
  return { text: '', status: isWell ? 200 : 503 }
}

/** SGLang's orders about its life: pause, memory, cache and weights. */
import { within } from '../../core/clock.ts'
import type { Call, Endpoint } from '../call.ts'
import { abortRequests } from './life.ts'

const done = { text: 'null', type: 'application/json' }

/**
 * POST /pause_generation: what comes later waits until /continue_generation. `mode`: `abort`, the default, ends what is
 * under way with finish_reason `abort`; with `in_place` and `retract` it goes on here, where a real server halts it.
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

/** POST /release_memory_occupation, with `tags` or all of it: the server has to be idle. */
export const releaseMemory: Endpoint = async ({ model, body, signal }) => {
  model.sglang.release(tagsOf(body))
  await model.pause(model.options.sleepMs ?? 0, signal)
  return done
}

/** POST /resume_memory_occupation, with `tags` or all of it: it has to be released. */
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
 * POST /update_weights_from_disk `{"model_path": "..."}`: lost weights are back. That it dies of it while the weights are
 * released is taken from what it does with questions; it was not seen. From then on /v1/models lists the path, as was seen.
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

/** GET /health_generate, and /health of an SGLang: one token is written; 503 where none comes. */
export const healthGenerate: Endpoint = async ({ model, signal, held }) => {
  const late = new AbortController()
  const call = { signal: AbortSignal.any([signal, late.signal]), held }
  const token = { readMs: 0, firstMs: 0, restMs: 0, tokens: 1, finishReason: 'length' }
  const isWell = await within(model.clock, healthTimeoutMs, model.run(call, token))
  if (!isWell) late.abort('late')
  return { text: '', status: isWell ? 200 : 503 }
}

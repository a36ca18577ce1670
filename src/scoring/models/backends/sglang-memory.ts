import { isObject, type JsonObject } from '../transport/reply.ts'
import {
  type KnownAnswer,
  knownTexts,
  type MemoryBackend,
  numbersAnswer,
  OrderFailed,
  objectIn,
  type ServerCalls,
  writtenAnswer,
} from './memory-backend.ts'

/** Milliseconds between checks whether anything is still running. */
const lookMs = 250
/** Milliseconds within which a working server answers the known question; a paused one never does. */
const knownMs = 20_000

/**
 * SGLang's memory saver (docs.sglang.io, advanced_features/sglang_for_rl), as of 0.5.14. The server crashes on a second
 * release, a resume while awake, a question while asleep, and a release while it generates. Nothing reports whether it sleeps.
 * So it is paused first: a paused server queues questions instead of crashing.
 */
export const sglangMemory: MemoryBackend = {
  isFragile: true,
  isAsleep: async () => null,

  // Random for each process, unless --random-seed sets it.
  async processOf(server) {
    const seed = (await serverInfo(server))?.random_seed
    return typeof seed === 'number' ? String(seed) : ''
  },

  async prepare(server, level) {
    const info = await serverInfo(server)
    if (!info) throw new OrderFailed('it does not report its options: /server_info returns none', true)
    const { enable_memory_saver: saves, enable_weights_cpu_backup: keeps } = info
    if (saves === false) throw new OrderFailed('it runs without --enable-memory-saver', true, true)
    if (level === 1 && keeps !== true)
      throw new OrderFailed(
        'its weights would be lost: level 1 needs SGLang started with --enable-weights-cpu-backup',
        true,
        true,
      )
    if (level === 1) return ''
    const path = (await first(server, ['/model_info', '/get_model_info']))?.model_path
    if (typeof path !== 'string' || path === '')
      throw new OrderFailed('its weights could not be reloaded: /model_info names no model_path', true)
    return path
  },

  async sleep(server) {
    await paused(server)
    await quiet(server)
    const { status } = await server.post('/release_memory_occupation', {}, { once: true })
    if (status !== 200) throw new OrderFailed(`/release_memory_occupation returned status ${status}`, false)
  },

  async wake(server, level, path) {
    // Opens a fresh connection: if a kept-alive one broke now, it would be unknown whether the server resumed.
    await server.get('/v1/models')
    await once(server, '/resume_memory_occupation', {})
    if (level === 2) {
      const said = objectIn(await server.post('/update_weights_from_disk', { model_path: path }))
      if (said?.success !== true) throw new OrderFailed('it did not reload its weights', false)
    }
    await once(server, '/continue_generation', {})
  },

  async askKnown(server, model) {
    const isWriter = (await first(server, ['/model_info', '/get_model_info']))?.is_generation !== false
    return isWriter ? written(server) : numbers(server, model)
  },
}

const serverInfo = (server: ServerCalls) => first(server, ['/server_info', '/get_server_info'])

/** The JSON object from the first path that returns one; newer paths come first. */
async function first(server: ServerCalls, paths: readonly string[]): Promise<JsonObject | null> {
  for (const path of paths) {
    const said = objectIn(await server.get(path))
    if (said) return said
  }
  return null
}

async function once(server: ServerCalls, path: string, body: unknown): Promise<void> {
  const { status } = await server.post(path, body, { once: true })
  if (status !== 200) throw new OrderFailed(`${path} returned status ${status}`, false)
}

/** Aborts running generations, including those of clients that have left, and queues new ones. */
async function paused(server: ServerCalls): Promise<void> {
  const reply = await server.post('/pause_generation', { mode: 'abort' })
  if (reply.status !== 200) throw new OrderFailed(`/pause_generation was answered ${reply.status}`, true)
  if (objectIn(reply)?.status !== 'ok') throw new OrderFailed('/pause_generation did not say ok', false)
}

/** Resolves when nothing is running: only then does the server agree to flush its cache. */
async function quiet(server: ServerCalls): Promise<void> {
  for (;;) {
    const { status } = await server.post('/flush_cache', {})
    if (status === 200) return
    if (server.leftMs <= lookMs) break
    await server.pause(lookMs)
  }
  const { status } = await server.post('/continue_generation', {}, { ms: lookMs * 20 })
  throw new OrderFailed('something is still running on it', status === 200)
}

async function written(server: ServerCalls): Promise<KnownAnswer | null> {
  const asked = {
    text: knownTexts[0],
    sampling_params: { temperature: 0, max_new_tokens: 4 },
    return_logprob: true,
    top_logprobs_num: 5,
  }
  const said = objectIn(await server.post('/generate', asked, { ms: Math.min(knownMs, server.limitMs) }))
  if (typeof said?.text !== 'string' || !isObject(said.meta_info)) return null
  const tops = said.meta_info.output_top_logprobs
  const alternatives: unknown[] = Array.isArray(tops) && Array.isArray(tops[0]) ? tops[0] : []
  // [logprob, token id, text]
  const likely = alternatives.flatMap((one) =>
    Array.isArray(one) && typeof one[0] === 'number' ? [[String(one[1]), one[0]] as const] : [],
  )
  return writtenAnswer(said.text, likely)
}

async function numbers(server: ServerCalls, model: string): Promise<KnownAnswer | null> {
  const { status, text } = await server.post(
    '/classify',
    { model, text: knownTexts },
    { ms: Math.min(knownMs, server.limitMs) },
  )
  if (status !== 200) return null
  try {
    return numbersAnswer(JSON.parse(text), ({ embedding }) => embedding)
  } catch {
    return null
  }
}

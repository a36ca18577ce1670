import { isObject } from '../transport/reply.ts'
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

/**
 * vLLM's sleep mode (docs.vllm.ai, features/sleep_mode; needs --enable-sleep-mode and VLLM_SERVER_DEV_MODE=1). Redundant orders
 * are harmless, and /is_sleeping reports the state. Level 2 drops the weights: waking restores their memory, reloads them,
 * and then restores the memory of the KV cache.
 */
export const vllmMemory: MemoryBackend = {
  isFragile: false,
  async isAsleep(server) {
    const said = objectIn(await server.get('/is_sleeping'))
    return said && typeof said.is_sleeping === 'boolean' ? said.is_sleeping : null
  },
  processOf: async () => '',
  prepare: async () => '',
  sleep: (server, level) => ordered(server, `/sleep?level=${level}`),
  async wake(server, level) {
    if (level === 1) return ordered(server, '/wake_up')
    await ordered(server, '/wake_up?tags=weights')
    await ordered(server, '/collective_rpc', { method: 'reload_weights' })
    await ordered(server, '/wake_up?tags=kv_cache')
  },
  askKnown: async (server, model) => (await written(server, model)) ?? numbers(server, model),
}

async function ordered(server: ServerCalls, path: string, body: unknown = null): Promise<void> {
  const { status } = await server.post(path, body)
  if (status !== 200) throw new OrderFailed(`${path} returned status ${status}`, false)
}

async function written(server: ServerCalls, model: string): Promise<KnownAnswer | null> {
  const asked = { model, prompt: knownTexts[0], max_tokens: 4, temperature: 0, logprobs: 5 }
  const said = objectIn(await server.post('/v1/completions', asked))
  const [choice] = Array.isArray(said?.choices) ? (said.choices as unknown[]) : []
  if (!isObject(choice) || typeof choice.text !== 'string') return null
  const { logprobs } = choice
  const [first] = isObject(logprobs) && Array.isArray(logprobs.top_logprobs) ? logprobs.top_logprobs : []
  const likely = isObject(first) ? Object.entries(first) : []
  return writtenAnswer(
    choice.text,
    likely.filter((entry): entry is [string, number] => typeof entry[1] === 'number'),
  )
}

async function numbers(server: ServerCalls, model: string): Promise<KnownAnswer | null> {
  for (const path of ['/classify', '/pooling', '/v1/embeddings']) {
    const said = objectIn(await server.post(path, { model, input: knownTexts }))
    const answer =
      said && numbersAnswer(said.data, ({ probs, data, embedding }) => probs ?? data ?? embedding)
    if (answer) return answer
  }
  return null
}

/**
 * SGLang's native endpoints, after its published server (python/sglang/srt/entrypoints/http_server.py), its request
 * objects (managers/io_struct.py) and docs/basic_usage/native_api.ipynb and sampling_params.md in sgl-project/sglang.
 */
import { type Call, type Endpoint, readTexts } from '../call.ts'
import { type Completion, readSampling, type Sampling } from '../completion.ts'
import { embed } from '../embedding.ts'
import { madeId } from '../identity.ts'
import type { LabelledToken } from '../logprobs.ts'
import type { Admitted } from '../model.ts'
import { rawReward } from '../scalar.ts'
import { tokenId } from '../tokens.ts'
import { answers } from './chat.ts'
import { fallAsleep, wake } from './life.ts'
import { pass } from './pooled.ts'
import { finishReason, sglangChunks } from './sglang-stream.ts'

/** POST /generate: an object for one text and one sample, else a list, prompt by prompt. */
export const generate: Endpoint = async (call) => {
  const texts = readTexts(call.body.text, 'text')
  const sampling = samplingOf(call)
  const admitted = texts.map((text) => call.model.admit(text))
  const [only] = admitted
  if (call.body.stream === true && only) return { events: sglangChunks(call, only, sampling) }
  const replies = await Promise.all(
    admitted.map(async (one) => {
      const completions = await answers(call, one, sampling)
      return completions.map((completion) => generated(call, one, completion))
    }),
  )
  const all = replies.flat()
  return { json: Array.isArray(call.body.text) || sampling.n > 1 ? all : (all[0] ?? {}) }
}

/** POST /encode: an embedding model's vectors. */
export const encode: Endpoint = async (call) => {
  const dimensions = call.model.options.dimensions ?? 256
  return pooled(call, ({ text }) => embed(text, dimensions))
}

/** POST /classify: a reward model's raw output stands where an embedding would. */
export const classifyText: Endpoint = (call) => pooled(call, ({ text }) => [rawReward(call.model, text)])

/** GET /get_model_info. */
export const modelInfo: Endpoint = ({ model }) => ({
  json: {
    model_path: model.name,
    tokenizer_path: model.name,
    is_generation: model.options.runner !== 'pooling',
    preferred_sampling_params: null,
    weight_version: 'default',
    has_image_understanding: false,
    has_audio_understanding: false,
  },
})

/** /flush_cache: refused while requests run or wait. */
export const flushCache: Endpoint = ({ model }) => {
  const isBusy = model.capacity.running + model.capacity.waiting > 0
  if (!isBusy) model.cache.clear()
  const text =
    'Cache flushed.\nPlease check backend logs for more details. ' +
    '(When there are running or waiting requests, the operation will not be performed.)\n'
  return { text, status: isBusy ? 400 : 200 }
}

/** POST /release_memory_occupation: the caller drains first, so what runs is left alone. */
export const releaseMemory: Endpoint = async (call) => {
  await fallAsleep(call, 'keep')
  return { text: 'null', type: 'application/json' }
}

/** POST /resume_memory_occupation, with `tags` or for all. */
export const resumeMemory: Endpoint = async (call) => {
  await wake(call, Array.isArray(call.body.tags) ? call.body.tags.map(String) : [])
  return { text: 'null', type: 'application/json' }
}

/** GET /health_generate: one token is written, so a sleeping server does not answer. */
export const healthGenerate: Endpoint = async (call) => {
  await call.model.run(0, call.signal, 'length')
  return { text: '' }
}

async function pooled(call: Call, vector: (one: Admitted) => number[]) {
  const texts = readTexts(call.body.text, 'text')
  const admitted = await pass(
    call,
    texts.map((text) => ({ text })),
  )
  const all = admitted.map((one) => ({
    embedding: vector(one),
    meta_info: { id: madeId('sgl'), finish_reason: null, prompt_tokens: one.tokens, e2e_latency: 0 },
  }))
  return { json: Array.isArray(call.body.text) ? all : (all[0] ?? {}) }
}

/** SGLang's names for what the OpenAI-style endpoints call otherwise. */
function samplingOf({ body }: Call): Sampling {
  const given = (body.sampling_params ?? {}) as Record<string, unknown>
  const {
    max_new_tokens: most = 128,
    json_schema: schema,
    regex,
    stop,
    no_stop_trim,
    temperature,
    n,
    seed,
  } = given
  const structured = schema !== undefined ? { json: schema } : regex !== undefined ? { regex } : undefined
  const shared = {
    stop,
    no_stop_trim,
    temperature,
    n,
    seed,
    max_tokens: most,
    structured_outputs: structured,
  }
  const alternatives = typeof body.top_logprobs_num === 'number' ? body.top_logprobs_num : 0
  return readSampling(shared, body.return_logprob === true ? alternatives : null)
}

function generated({ model, body }: Call, admitted: Admitted, completion: Completion): object {
  const withText = body.return_text_in_logprobs === true
  const triple = ({ token, logprob }: { token: string; logprob: number }) => [
    logprob,
    tokenId(token),
    withText ? token : null,
  ]
  const logprobs = (tokens: readonly LabelledToken[]) => ({
    input_token_logprobs: [],
    output_token_logprobs: tokens.map(triple),
    output_top_logprobs: tokens.map(({ top }) => top.map(triple)),
  })
  return {
    text: completion.text,
    output_ids: [],
    meta_info: {
      id: madeId('sgl'),
      finish_reason: finishReason(completion),
      prompt_tokens: admitted.tokens,
      completion_tokens: completion.tokens,
      cached_tokens: admitted.cachedTokens,
      weight_version: 'default',
      model: model.name,
      ...(completion.logprobs && logprobs(completion.logprobs)),
    },
  }
}

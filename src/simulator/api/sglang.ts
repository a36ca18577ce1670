/**
 * SGLang's native endpoints, after its published server (python/sglang/srt/entrypoints/http_server.py), its request
 * objects (managers/io_struct.py) and docs/basic_usage/native_api.ipynb and sampling_params.md in sgl-project/sglang.
 */
import { type Call, type Endpoint, madeId, type ReplyEvent, readTexts } from '../call.ts'
import { type Completion, readSampling, type Sampling } from '../completion.ts'
import type { Admitted } from '../model.ts'
import { type LabelledToken, tokenId } from '../tokens.ts'
import { answers, streamed } from './completions.ts'
import { pass, rawReward, vectorOf } from './pooling.ts'

/** Events of /generate with `stream: true`. Each holds the whole text and log probabilities so far. */
async function* sglangChunks(
  call: Call,
  prompts: readonly Admitted[],
  sampling: Sampling,
): AsyncGenerator<ReplyEvent> {
  let id = ''
  let last = -1
  let logprobs: LabelledToken[] = []
  for await (const one of streamed(call, prompts, sampling)) {
    const { index, admitted, soFar, end, written } = one
    if (index > last) {
      last = index
      id = madeId('sgl')
      logprobs = []
    }
    logprobs.push(...(one.logprobs ?? []))
    const meta = {
      id,
      finish_reason: end && finishReason(end),
      prompt_tokens: admitted.tokens,
      weight_version: 'default',
      ...(sampling.topLogprobs !== null && nativeLogprobs(call, logprobs)),
      completion_tokens: written,
      cached_tokens: admitted.cachedTokens,
    }
    yield {
      data: JSON.stringify({ text: soFar, output_ids: [], meta_info: meta, index }),
      tokens: end ? 0 : 1,
    }
  }
  yield { data: '[DONE]', tokens: 0 }
}

/** `meta_info`'s log probabilities: `[logprob, token id, text]`, with the text only if requested. */
function nativeLogprobs({ body }: Call, tokens: readonly LabelledToken[]): object {
  const withText = body.return_text_in_logprobs === true
  const triple = ({ token, logprob }: { token: string; logprob: number }) => [
    logprob,
    tokenId(token),
    withText ? token : null,
  ]
  return {
    input_token_logprobs: [],
    output_token_logprobs: tokens.map(triple),
    output_top_logprobs: tokens.map(({ top }) => top.map(triple)),
  }
}

/** An object with a type, where OpenAI has a word. */
function finishReason({ finishReason, stopReason, tokens }: Completion): object {
  if (finishReason === 'length') return { type: 'length', length: tokens }
  if (finishReason === 'abort') return { type: 'abort', message: 'Abort in waiting or running queue' }
  return { type: 'stop', matched: stopReason ?? '<|im_end|>' }
}

/** POST /generate: an object for one text and one sample, otherwise a list, prompt by prompt. */
export const generate: Endpoint = async (call) => {
  const texts = readTexts(call.body.text, 'text')
  const sampling = samplingOf(call)
  const admitted = texts.map((text) => call.model.admit(text))
  if (call.body.stream === true) return { events: sglangChunks(call, admitted, sampling) }
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
  return pooled(call, ({ text }) => vectorOf(call.model, text, dimensions))
}

/** POST /classify: a reward model's raw output in place of an embedding. */
export const classifyText: Endpoint = (call) => pooled(call, ({ text }) => [rawReward(call.model, text)])

/** GET /get_model_info. */
export const modelInfo: Endpoint = ({ model }) => ({
  json: {
    model_path: model.path,
    tokenizer_path: model.name,
    is_generation: model.options.runner !== 'pooling',
    preferred_sampling_params: null,
    weight_version: 'default',
    has_image_understanding: false,
    has_audio_understanding: false,
  },
})

/** GET /server_info and its older name /get_server_info: the arguments as flat fields, as in SGLang. */
export const serverInfo: Endpoint = ({ model }) => ({
  json: {
    model_path: model.path,
    served_model_name: model.name,
    tokenizer_path: model.name,
    context_length: model.maxModelLen,
    is_embedding: model.options.runner === 'pooling',
    max_running_requests: model.options.maxNumSeqs ?? 256,
    enable_metrics: true,
    random_seed: model.sglang.randomSeed,
    enable_memory_saver: model.sglang.flags.enableMemorySaver,
    enable_weights_cpu_backup: model.sglang.flags.enableWeightsCpuBackup,
    weight_version: 'default',
    status: 'ready',
    max_total_num_tokens: model.cacheTokens,
    max_req_input_len: model.maxModelLen,
    internal_states: [{ effective_max_running_requests_per_dp: model.options.maxNumSeqs ?? 256 }],
    version: modelledVersion,
  },
})

/** The version of SGLang that this imitates. */
const modelledVersion = '0.5.14'

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

/** Maps SGLang's names of sampling settings to those of the OpenAI-style endpoints. */
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

function generated(call: Call, admitted: Admitted, completion: Completion): object {
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
      model: call.model.name,
      ...(completion.logprobs && nativeLogprobs(call, completion.logprobs)),
    },
  }
}

import { createdNow, type Endpoint, readTexts, requireModel } from '../call.ts'
import { readMessages, renderChat } from '../conversation.ts'
import type { SimulatedModel } from '../model.ts'
import { badRequest } from '../refusal.ts'
import { remember, rememberText, splitTokens, tokenIds } from '../tokens.ts'
import { healthGenerate } from './life.ts'

/** The server's metrics in Prometheus' text format, under the names of vLLM, SGLang, or both. */
function metricsText(model: SimulatedModel): string {
  const { engine } = model.options
  const lines = [...(engine === 'sglang' ? [] : ofVllm(model)), ...(engine === 'vllm' ? [] : ofSglang(model))]
  return `${lines.join('\n')}\n`
}

function ofVllm(model: SimulatedModel): string[] {
  const { counters, capacity, cache } = model
  const labels = `engine="0",model_name="${escapeLabel(model.name)}"`
  const lines: string[] = []
  const add = adder(lines, labels)
  add('vllm:num_requests_running', 'gauge', 'Sequences that run.', capacity.running)
  add('vllm:num_requests_waiting', 'gauge', 'Sequences that wait for a slot.', capacity.waiting)
  add('vllm:engine_sleep_state', 'gauge', 'Awake.', model.isSleeping ? 0 : 1, ',sleep_state="awake"')
  add('vllm:prompt_tokens_total', 'counter', 'Prompt tokens.', counters.promptTokens)
  add('vllm:generation_tokens_total', 'counter', 'Generated tokens.', model.generatedTokens)
  add('vllm:prefix_cache_queries_total', 'counter', 'Tokens looked up in the prefix cache.', cache.queries)
  add('vllm:prefix_cache_hits_total', 'counter', 'Tokens found in the prefix cache.', cache.hits)
  add('vllm:kv_cache_usage_perc', 'gauge', 'Share of the cache that running sequences use.', model.cacheUsage)
  lines.push('# HELP vllm:request_success_total Sequences by how they ended.')
  lines.push('# TYPE vllm:request_success_total counter')
  for (const reason of ['stop', 'length', 'abort']) {
    const value = counters.finishReasons.get(reason) ?? 0
    lines.push(`vllm:request_success_total{${labels},finished_reason="${reason}"} ${value}`)
  }
  return lines
}

/** SGLang's gauges describe its last batch and do not change while it is idle. */
function ofSglang(model: SimulatedModel): string[] {
  const { counters, capacity } = model
  const lines: string[] = []
  const add = adder(
    lines,
    `model_name="${escapeLabel(model.name)}",engine_type="unified",tp_rank="0",pp_rank="0"`,
  )
  add('sglang:num_running_reqs', 'gauge', 'Sequences of the last batch.', capacity.lastBatch.running)
  add('sglang:num_queue_reqs', 'gauge', 'Sequences that waited beside it.', capacity.lastBatch.waiting)
  add('sglang:num_used_tokens', 'gauge', 'Tokens of running sequences.', capacity.tokens)
  add('sglang:token_usage', 'gauge', 'Share of the cache that running sequences use.', model.cacheUsage)
  add('sglang:prompt_tokens_total', 'counter', 'Prompt tokens.', counters.promptTokens)
  add('sglang:generation_tokens_total', 'counter', 'Generated tokens.', model.generatedTokens)
  add('sglang:num_requests_total', 'counter', 'Sequences that finished.', counters.finished)
  return lines
}

const adder =
  (lines: string[], labels: string) =>
  (name: string, type: string, help: string, value: number, extra = ''): void => {
    lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, `${name}{${labels}${extra}} ${value}`)
  }

function escapeLabel(value: string): string {
  return value.replace(/[\\"\n]/gu, (sign) => (sign === '\n' ? '\\n' : `\\${sign}`))
}

/** The version of vLLM that these replies imitate. */
const modelledVersion = '0.32.0'

/** GET /health and /ping: an empty text. SGLang first generates a token. */
export const health: Endpoint = (call) =>
  call.model.sglang.writesForHealth(call.path) ? healthGenerate(call) : { text: '' }

/** GET /version. */
export const version: Endpoint = () => ({ json: { version: modelledVersion } })

/** GET /load: requests in flight. */
export const load: Endpoint = ({ model }) => ({ json: { server_load: model.counters.inFlight } })

/** GET /metrics in Prometheus' text format. */
export const metrics: Endpoint = ({ model }) => ({
  text: metricsText(model),
  type: 'text/plain; version=1.0.0; charset=utf-8',
})

/** GET /v1/models. */
export const models: Endpoint = ({ model }) => ({
  json: {
    object: 'list',
    data: [
      {
        id: model.listedAs,
        object: 'model',
        created: createdNow(),
        owned_by: model.options.engine ?? 'vllm',
        root: model.path,
        parent: null,
        max_model_len: model.maxModelLen,
        permission: [],
      },
    ],
  },
})

/** POST /tokenize: a `prompt`, or `messages` rendered like the chat endpoint. */
export const tokenize: Endpoint = (call) => {
  requireModel(call)
  const { body, model } = call
  const turns = body.messages === undefined ? undefined : readMessages(body.messages)
  if (turns === null) throw badRequest('messages must be a list of turns', 'messages')
  const [text = ''] = turns
    ? [renderChat(turns, body.add_generation_prompt !== false)]
    : readTexts(body.prompt, 'prompt')
  const tokens = tokenIds(text)
  if (tokens.length === 1) remember(text)
  rememberText(text, tokens)
  const strings = body.return_token_strs === true ? splitTokens(text) : null
  return { json: { count: tokens.length, max_model_len: model.maxModelLen, tokens, token_strs: strings } }
}

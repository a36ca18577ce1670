import type { SimulatedModel } from './model.ts'

/** The server's numbers under vLLM's metric names, in Prometheus' text form. */
export function metricsText(model: SimulatedModel): string {
  const { counters, capacity, cache } = model
  const labels = `engine="0",model_name="${escapeLabel(model.name)}"`
  const lines: string[] = []
  const add = (name: string, type: string, help: string, value: number, extra = ''): void => {
    lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, `${name}{${labels}${extra}} ${value}`)
  }
  add('vllm:num_requests_running', 'gauge', 'Sequences that run.', capacity.running)
  add('vllm:num_requests_waiting', 'gauge', 'Sequences that wait for a slot.', capacity.waiting)
  add('vllm:engine_sleep_state', 'gauge', 'Awake.', model.isSleeping ? 0 : 1, ',sleep_state="awake"')
  add('vllm:prompt_tokens_total', 'counter', 'Prompt tokens.', counters.promptTokens)
  add('vllm:generation_tokens_total', 'counter', 'Generated tokens.', counters.generationTokens)
  add('vllm:prefix_cache_queries_total', 'counter', 'Tokens looked up in the prefix cache.', cache.queries)
  add('vllm:prefix_cache_hits_total', 'counter', 'Tokens found in the prefix cache.', cache.hits)
  add('vllm:kv_cache_usage_perc', 'gauge', 'Share of blocks in use.', cache.usage)
  lines.push('# HELP vllm:request_success_total Sequences by how they ended.')
  lines.push('# TYPE vllm:request_success_total counter')
  for (const reason of ['stop', 'length', 'abort']) {
    const value = counters.finishReasons.get(reason) ?? 0
    lines.push(`vllm:request_success_total{${labels},finished_reason="${reason}"} ${value}`)
  }
  return `${lines.join('\n')}\n`
}

function escapeLabel(value: string): string {
  return value.replace(/[\\"\n]/gu, (sign) => (sign === '\n' ? '\\n' : `\\${sign}`))
}

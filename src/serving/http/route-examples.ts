/**
 * A request and the reply to it for the routes of /docs, with the shipped configs and simulated judges. A test sends each request.
 */

interface RouteExample {
  readonly body?: unknown
  /** A body of one JSON value a line. */
  readonly lines?: readonly unknown[]
  /** What the reply holds; it may have more. Absent: it is no JSON, or it depends on the server. */
  readonly reply?: unknown
  /** Of the reply. Default: 200. */
  readonly status?: 201 | 202
}

const question = 'Six crates hold seven jars each. How many jars are there?'
const response = 'There are 6 * 7 = 42 jars.\n#### 42'
const messages = [{ role: 'user', content: question }]
const scored = {
  ...{ status: 'scored', score: 1, weight: 1, contribution: 1, parts: {}, details: { extracted: '42' } },
  ...{ flags: [], draws: 1, spread: 0, why: null, failure: null },
}
const asked = { model: 'judge-a', messages, max_tokens: 16 }
const program = { program: response, tests: '42', max_execution_time: 1 }
const texts = { query: [`${question} ${response}`], prompts: [question], labels: ['42'] }
const turns = { messages: [...messages, { role: 'assistant', content: response }], ground_truth: '42' }
const ranked = { model: 'scalar', query: question, documents: ['42', '13'] }
const credits = { rollouts: 197_940, bytes: 17_152_000_000, questions: 1_997_940 }
const server = { url: 'http://127.0.0.1:8101' }
const result = {
  ...{ id: 'a', reward: 1, valid: true, failure: null, substitute: null, terms: { rule: scored } },
  ...{ metrics: { rule: 1, rule_scored: 1 }, flags: [] },
}
const rollout = { reward: 'gsm8k', sample: { prompt: question, response, ground_truth: '42' } }
const final = {
  ...{ uid: 'r-1', attempt: 1, state: 'scored', cursor: '7b06740fc7c0-1', at: 1795881656.832 },
  result: { ...result, id: 'r-1' },
}
const run = {
  ...{ run: 'run-7', unfinished: 0, oldest: null, finals: 1, expired: 0, cursor: '7b06740fc7c0-1' },
  ...{ bytes: 863, torn_bytes: 0 },
}
const gsm8k = { name: 'gsm8k', version: '257021b6e2ba3fb5' }
const description = 'GSM8K by its final number, with partial credit. No model is asked.'

const instance = (address: string, weight: number, state = 'ready') => ({
  ...{ address, state, weight, in_flight: 0, limit: 256, latency_ms: 0, calls: 0, errors: 0 },
})
const other = instance('http://127.0.0.1:8102', 1)
const shown = (memory: string, ...instances: readonly object[]) => ({
  ...{ name: 'judge-a', serves: 'judge-a', backend: 'vllm', memory, waiting: 0, parked: 0 },
  ...{ parked_since: null, instances },
})
const awake = shown('awake', instance(server.url, 1), other)

/** A list in the form of OpenAI's and vLLM's replies. */
const listOf = (model: string, data: readonly object[], tokens: number) => ({
  ...{ object: 'list', model, data },
  usage: { prompt_tokens: tokens, total_tokens: tokens, completion_tokens: 0 },
})
const usage = (prompt: number) => ({ prompt_tokens: prompt, total_tokens: prompt + 1, completion_tokens: 1 })
const completed = {
  reply: {
    object: 'chat.completion',
    model: 'judge-a',
    choices: [{ index: 0, message: { role: 'assistant', content: '0' }, finish_reason: 'stop' }],
    usage: usage(23),
  },
}
const classified = {
  body: { model: 'scalar', input: [response] },
  reply: listOf('scalar', [{ index: 0, label: 'LABEL_0', probs: [0.6591437681660397], num_classes: 1 }], 9),
}
const sorted = {
  body: ranked,
  reply: {
    model: 'scalar',
    results: [
      { index: 0, document: { text: '42' }, relevance_score: 0.5 },
      { index: 1, document: { text: '13' }, relevance_score: 0.5 },
    ],
  },
}
const readied = { reply: {} }
const served = { id: 'judge-a', object: 'model', owned_by: 'reward-gateway', root: 'judge-a' }

const verified = {
  body: {
    expected_answer: '42',
    responses_create_params: { input: messages },
    response: {
      id: 'r-1',
      output: [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: response }] }],
    },
  },
  reply: { reward: 1 },
}

const evaluated = { body: turns, reply: { score: 1, is_score_valid: true } }
const queried = { body: texts, reply: { rewards: [1] } }
const ran = { body: program, reply: { results: [1] } }
const rated = {
  body: {
    model: 'm',
    messages: [`<|im_start|>user\n${question}<|im_end|>\n<|im_start|>assistant\n${response}<|im_end|>\n`],
  },
  reply: { scores: [1] },
}

/** By method and path, as routes are declared. */
export const routeExamples: Readonly<Record<string, RouteExample>> = {
  'POST /v1/score': {
    body: {
      reward: 'gsm8k',
      samples: [{ id: 'a', prompt: question, response, ground_truth: '42' }],
    },
    reply: { results: [result], reward: gsm8k },
  },
  'POST /wire/axolotl/:reward/verify': verified,
  'POST /wire/axolotl/:reward/seed_session': readied,
  'POST /wire/azure/:reward': {
    body: { sample: { output_text: response }, item: { messages, reference_answer: '42' }, trace_id: 't-1' },
    reply: { score: 1 },
  },
  'POST /wire/eval-protocol/:reward': evaluated,
  'POST /wire/eval-protocol/:reward/reward': evaluated,
  'POST /wire/eval-protocol/:reward/evaluate': evaluated,
  'POST /wire/llama-factory/:reward': rated,
  'POST /wire/llama-factory/:reward/v1/score/evaluation': rated,
  'POST /wire/nemo-gym/:reward/verify': verified,
  'POST /wire/nemo-gym/:reward/seed_session': readied,
  'GET /wire/nemo-gym/:reward/reverify_mode': { reply: 'stateless' },
  'POST /wire/open-instruct/:reward': ran,
  'GET /wire/open-instruct/:reward/health': { reply: { status: 'healthy' } },
  'POST /wire/open-instruct/:reward/test_program': ran,
  'POST /wire/open-instruct/:reward/test_program_stdio': ran,
  'POST /wire/openrlhf/:reward': queried,
  'POST /wire/openrlhf/:reward/get_reward': queried,
  'POST /wire/slime/:reward': { body: { prompt: question, response, label: '42' }, reply: 1 },
  'POST /v1/chat/completions': { body: asked, ...completed },
  'POST /v1/chat/completions/batch': { body: { ...asked, messages: [messages] }, ...completed },
  'POST /v1/completions': {
    body: { model: 'judge-a', prompt: question, max_tokens: 16 },
    reply: {
      object: 'text_completion',
      model: 'judge-a',
      choices: [{ index: 0, text: '0', finish_reason: 'stop' }],
      usage: usage(15),
    },
  },
  'POST /v1/responses': { body: { model: 'judge-a', input: question } },
  'POST /v1/messages': { body: asked },
  'POST /v1/decisions': {
    body: {
      model: 'judge-a',
      input: `${question}\n${response}`,
      questions: [{ type: 'predicate', instructions: 'The answer is right.' }],
    },
    reply: { model: 'judge-a', answers: [{ type: 'predicate', name: null, probability: 0.5 }] },
  },
  'POST /v1/systemone': {
    body: {
      model: 'judge-a',
      state: { question, response },
      questions: { right: { type: 'noul', instructions: 'Is the answer right?' } },
    },
    reply: {
      model: 'judge-a',
      answers: { right: { type: 'noul', probabilities: { yes: 0.5, no: 0.5 }, noul: 0.5 } },
    },
  },
  'POST /v1/embeddings': {
    body: { model: 'embedder', input: ['42', '13'] },
    reply: {
      object: 'list',
      model: 'embedder',
      data: [
        { index: 0, object: 'embedding' },
        { index: 1, object: 'embedding' },
      ],
    },
  },
  'POST /classify': classified,
  'POST /v1/classify': classified,
  'POST /pooling': {
    body: { model: 'scalar', input: [response] },
    reply: listOf('scalar', [{ index: 0, object: 'pooling', data: [0.6591437681660397] }], 9),
  },
  'POST /score': {
    body: { model: 'scalar', text_1: question, text_2: response },
    reply: listOf('scalar', [{ index: 0, object: 'score', score: 0.9247016090877787 }], 23),
  },
  'POST /rerank': sorted,
  'POST /v1/rerank': sorted,
  'POST /v2/rerank': sorted,
  'POST /generative_scoring': {
    body: { model: 'judge-b', query: question, items: ['42'], label_token_ids: [15, 16] },
    reply: listOf('judge-b', [{ index: 0, object: 'score', score: 0.19734021141242342 }], 15),
  },
  'POST /tokenize': {
    body: { model: 'judge-a', prompt: '6 * 7 = 42' },
    reply: { count: 3, max_model_len: 32_768, tokens: [15_674, 37_546, 5551] },
  },
  'POST /detokenize': { body: { model: 'judge-a', tokens: [1, 2] } },
  'GET /v1/models': { reply: { object: 'list', data: [served] } },
  'GET /v1/models/:name': { reply: served },
  'GET /admin/models': { reply: { models: [awake] } },
  'GET /admin/models/:name': { reply: awake },
  'POST /admin/models/:name/sleep': {
    reply: shown('asleep', instance(server.url, 1, 'asleep'), { ...other, state: 'asleep' }),
  },
  'POST /admin/models/:name/wake': { reply: awake },
  'POST /admin/models/:name/instances': {
    body: server,
    reply: awake,
    status: 201,
  },
  'POST /admin/models/:name/instances/drain': {
    body: { ...server, wait_s: 30 },
    reply: shown('awake', instance(server.url, 1, 'draining'), other),
  },
  'POST /admin/models/:name/instances/remove': {
    body: { ...server, wait_s: 30 },
    reply: shown('awake', other),
  },
  'GET /admin/reload': { reply: { last: null } },
  'POST /admin/reload': { reply: { rewards: [{ name: 'countdown', version: '769efef9521fa805' }] } },
  'GET /v1/rewards': {
    reply: {
      rewards: [
        {
          name: 'countdown',
          version: '769efef9521fa805',
          description: 'The number game, by format, numbers and value. No model is asked.',
        },
      ],
    },
  },
  'GET /v1/rewards/:name': {
    reply: {
      ...gsm8k,
      description,
      config: {
        ...{ description, on_unreadable: 'fail', on_invalid: null, arithmetic: 'strict', name: 'gsm8k' },
        steps: [{ name: 'rule', function: 'gsm8k-progressive', options: {} }],
      },
    },
  },
  'GET /v1/rewards/:name/stats': {
    reply: {
      reward: gsm8k.name,
      version: gsm8k.version,
      runs: [{ run: '', figures: { reward_mean: { low: 0.05, high: 0.95 } } }],
      suspects: [],
    },
  },
  'GET /v1/functions': { reply: { functions: [{ name: 'choice-match', kind: 'rule', ask: null }] } },
  'GET /v1/stalls': { reply: { run: '', steps: [] } },
  'PUT /v1/runs/:run/rollouts/:uid': {
    body: rollout,
    reply: { uid: 'r-1', attempt: 1, state: 'queued', credits },
    status: 202,
  },
  'GET /v1/runs/:run/rollouts/:uid': { reply: final },
  'POST /v1/runs/:run/rollouts': {
    lines: ['r-2', 'r-3'].map((uid) => ({ uid, ...rollout })),
    reply: {
      results: ['r-2', 'r-3'].map((uid) => ({ uid, attempt: 1, state: 'queued' })),
      credits,
    },
    status: 202,
  },
  'GET /v1/runs/:run/rewards': {
    reply: { results: [final], cursor: final.cursor, unfinished: 0, credits },
  },
  'GET /v1/runs': { reply: { runs: [run], credits } },
  'GET /v1/runs/:run': { reply: { ...run, damage: [], credits } },
  'POST /v1/runs/:run/cancel': { body: { policy_version_below: 12 }, reply: { cancelled: 3, credits } },
  'GET /v1/queue': {
    reply: {
      unfinished: 2060,
      running: 2048,
      bytes: 9_240_576,
      credits,
      disk_failing: false,
      total_runs: 1,
      runs: [
        {
          run: 'run-7',
          unfinished: 2060,
          running: 2048,
          oldest_s: 41.2,
          deadline_s: 3558.8,
          finals: 512,
          accepted_per_s: 60.1,
          finals_per_s: 12.5,
          waits: [
            { cause: 'line', name: 'judge-a', rollouts: 1920 },
            { cause: 'answer', name: 'judge-a', rollouts: 128 },
            { cause: 'group', name: '', rollouts: 7 },
            { cause: 'queue', name: '', rollouts: 5 },
          ],
          groups: [{ group: 'prompt-812', here: 7, size: 8, deadline_s: 3580.4 }],
          last_stall: {
            step: 119,
            ms: 48_211,
            shares: [
              { cause: 'line', model: 'judge-a', ms: 40_100 },
              { cause: 'answer', model: 'judge-a', ms: 8_111 },
            ],
          },
          bytes: 9_240_576,
          damaged: 0,
        },
      ],
    },
  },
  'GET /livez': { reply: { status: 'ok' } },
  'GET /readyz': { reply: { ready: true, missing: [], parked: [], suspects: {} } },
}

/** The value of a path's parameter in the examples. */
export const parameterExample = (url: string, name: string): string =>
  ofRuns[name] ?? (name === 'reward' || url.startsWith('/v1/rewards') ? 'gsm8k' : 'judge-a')

const ofRuns: Readonly<Record<string, string>> = { run: 'run-7', uid: 'r-1' }

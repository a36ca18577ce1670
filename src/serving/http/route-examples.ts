/**
 * A request and the reply to it for the routes of /docs, with the shipped configs and simulated judges. A test sends each request.
 */

interface RouteExample {
  readonly body?: unknown
  /** What the reply holds; it may have more. Absent: it depends on the server. */
  readonly reply?: unknown
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
  body: { model: 'm', messages: [`${question} ${response}`] },
}

/** By method and path, as routes are declared. */
export const routeExamples: Readonly<Record<string, RouteExample>> = {
  'POST /v1/score': {
    body: {
      reward: 'gsm8k',
      samples: [{ id: 'a', prompt: question, response, ground_truth: '42' }],
    },
    reply: {
      results: [
        {
          ...{ id: 'a', reward: 1, valid: true, failure: null, substitute: null, terms: { rule: scored } },
          ...{ metrics: { rule: 1, rule_scored: 1 }, flags: [] },
        },
      ],
      reward: { name: 'gsm8k' },
    },
  },
  'POST /wire/axolotl/:reward/verify': verified,
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
  'POST /wire/open-instruct/:reward': ran,
  'POST /wire/open-instruct/:reward/test_program': ran,
  'POST /wire/open-instruct/:reward/test_program_stdio': ran,
  'POST /wire/openrlhf/:reward': queried,
  'POST /wire/openrlhf/:reward/get_reward': queried,
  'POST /wire/slime/:reward': { body: { prompt: question, response, label: '42' }, reply: 1 },
  'POST /v1/chat/completions': { body: asked },
  'POST /v1/chat/completions/batch': { body: { ...asked, messages: [messages] } },
  'POST /v1/completions': { body: { model: 'judge-a', prompt: question, max_tokens: 16 } },
  'POST /v1/responses': { body: { model: 'judge-a', input: question } },
  'POST /v1/messages': { body: asked },
  'POST /v1/decisions': {
    body: {
      model: 'judge-a',
      input: `${question}\n${response}`,
      questions: [{ type: 'predicate', instructions: 'The answer is right.' }],
    },
  },
  'POST /v1/systemone': {
    body: {
      model: 'judge-a',
      state: { question, response },
      questions: { right: { type: 'noul', instructions: 'Is the answer right?' } },
    },
  },
  'POST /v1/embeddings': { body: { model: 'embedder', input: ['42', '13'] } },
  'POST /classify': { body: { model: 'scalar', input: [response] } },
  'POST /v1/classify': { body: { model: 'scalar', input: [response] } },
  'POST /pooling': { body: { model: 'scalar', input: [response] } },
  'POST /score': { body: { model: 'scalar', text_1: question, text_2: response } },
  'POST /rerank': { body: ranked },
  'POST /v1/rerank': { body: ranked },
  'POST /v2/rerank': { body: ranked },
  'POST /generative_scoring': {
    body: { model: 'judge-a', query: question, items: ['42'], label_token_ids: [15, 16] },
  },
  'POST /tokenize': { body: { model: 'judge-a', prompt: question } },
  'POST /detokenize': { body: { model: 'judge-a', tokens: [1, 2] } },
  'POST /admin/models/:name/instances': { body: { ...server, weight: 2 } },
  'POST /admin/models/:name/instances/drain': { body: { ...server, wait_s: 30 } },
  'POST /admin/models/:name/instances/remove': { body: { ...server, wait_s: 30 } },
  'GET /v1/rewards': { reply: { rewards: [{ name: 'countdown' }] } },
  'PUT /v1/runs/:run/rollouts/:uid': {
    body: { reward: 'gsm8k', sample: { prompt: question, response, ground_truth: '42' } },
    reply: { uid: 'r-1', attempt: 1, state: 'queued', credits },
  },
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
  'GET /readyz': { reply: { ready: true } },
}

/** The value of a path's parameter in the examples. */
export const parameterExample = (url: string, name: string): string =>
  ofRuns[name] ?? (name === 'reward' || url.startsWith('/v1/rewards') ? 'gsm8k' : 'judge-a')

const ofRuns: Readonly<Record<string, string>> = { run: 'run-7', uid: 'r-1' }

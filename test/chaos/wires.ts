import type { Rollout } from './rollouts.ts'

/** How one trainer asks, and what its reply says of each row: a number, or null where it says that there is none. */
export interface WireCase {
  readonly path: string
  readonly accept?: string
  /** Most rows of one request. */
  readonly rows: number
  body(rows: readonly Rollout[]): object
  /** Throws where the reply has not the wire's form. */
  read(reply: string, count: number): (number | null)[]
}

const chat = ({ question, response }: Rollout) => `${chatPrompt(question)}${response}`
const chatPrompt = (question: string) => `<|im_start|>user\n${question}<|im_end|>\n<|im_start|>assistant\n`

const native = (rows: readonly Rollout[]) => ({
  reward: 'judged',
  samples: rows.map(({ id, question, response, truth }) => ({
    id,
    prompt: question,
    response,
    ground_truth: truth,
  })),
})

interface NativeRow {
  readonly index?: number
  readonly id: string
  readonly reward: number | null
  readonly valid: boolean
  readonly failure: { readonly kind: string } | null
}

function nativeReward({ reward, valid, failure }: NativeRow): number | null {
  if (valid !== (reward !== null) || valid !== (failure === null))
    throw new Error('a row that is neither scored nor invalid')
  return reward
}

const verify = ({ question, response, truth }: Rollout) => ({
  expected_answer: truth,
  responses_create_params: { input: [{ role: 'user', content: question }] },
  response: {
    id: 'r',
    output: [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: response }] }],
  },
})

/** One number in an object. */
const single = (
  body: (row: Rollout) => object,
  path: string,
  read: (reply: never) => number | null,
): WireCase => ({
  path,
  rows: 1,
  body: ([row]) => body(row as Rollout),
  read: (reply) => [read(JSON.parse(reply) as never)],
})

const turns = ({ question, response }: Rollout) => [
  { role: 'user', content: question },
  { role: 'assistant', content: response },
]

/** Every wire of the gateway; `llama-factory` brings no truth, the gateway knows it from a file. */
export const wireCases: Readonly<Record<string, WireCase>> = {
  native: {
    path: '/v1/score',
    rows: 24,
    body: native,
    read(reply, count) {
      const { results } = JSON.parse(reply) as { results: NativeRow[] }
      if (results.length !== count) throw new Error(`${results.length} results for ${count} rows`)
      return results.map(nativeReward)
    },
  },
  ndjson: {
    path: '/v1/score',
    accept: 'application/x-ndjson',
    rows: 24,
    body: native,
    read(reply, count) {
      const lines = reply
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as NativeRow)
      const rewards = new Map(lines.map((row) => [row.index, nativeReward(row)]))
      if (lines.length !== count || rewards.size !== count)
        throw new Error(`${lines.length} lines, ${rewards.size} of ${count} rows`)
      return Array.from({ length: count }, (_, index) => rewards.get(index) ?? null)
    },
  },
  openrlhf: {
    path: '/wire/openrlhf/judged',
    rows: 4,
    body: (rows) => ({
      query: rows.map(chat),
      prompts: rows.map(({ question }) => chatPrompt(question)),
      labels: rows.map(({ truth }) => truth),
    }),
    read(reply, count) {
      const { rewards } = JSON.parse(reply) as { rewards: number[] }
      if (rewards.length !== count) throw new Error(`${rewards.length} rewards for ${count} rows`)
      return rewards
    },
  },
  'llama-factory': {
    path: '/wire/llama-factory/judged',
    rows: 4,
    body: (rows) => ({ model: 'model', messages: rows.map(chat) }),
    read: (reply) => (JSON.parse(reply) as { scores: number[] }).scores,
  },
  slime: single(
    ({ question, response, truth }) => ({ prompt: question, response, label: truth }),
    '/wire/slime/judged',
    (reply: number) => reply,
  ),
  'slime-object': single(
    ({ question, response, truth }) => ({ prompt: question, response, label: truth }),
    '/wire/slime/judged?reward_key=acc',
    ({ acc, invalid }: { acc: number; invalid: number }) => (invalid ? null : acc),
  ),
  'nemo-gym': single(
    verify,
    '/wire/nemo-gym/judged/verify',
    ({ reward, mask_sample }: { reward: number; mask_sample: boolean }) => (mask_sample ? null : reward),
  ),
  axolotl: single(verify, '/wire/axolotl/judged/verify', ({ reward }: { reward: number }) => reward),
  'open-instruct': single(
    ({ response, truth }) => ({ program: response, tests: truth }),
    '/wire/open-instruct/judged',
    ({ results }: { results: number[] }) => results[0] ?? null,
  ),
  azure: single(
    (row) => ({
      sample: { output_text: row.response },
      item: { messages: turns(row).slice(0, 1), reference_answer: row.truth },
      trace_id: row.id,
    }),
    '/wire/azure/judged',
    ({ score }: { score: number }) => score,
  ),
  'eval-protocol': single(
    (row) => ({ messages: turns(row), ground_truth: row.truth }),
    '/wire/eval-protocol/judged',
    ({ score, is_score_valid }: { score: number; is_score_valid: boolean }) =>
      is_score_valid ? score : null,
  ),
}

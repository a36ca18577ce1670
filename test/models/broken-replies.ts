import { completion, json, type Script } from '../support/scripted-server.ts'

/** Ways for an upstream to go wrong; none of them may ever look like an answer. */
export const harms: Script[] = [
  (_seen, response) => json(response, { error: { message: 'x' } }, 500),
  (_seen, response) => json(response, {}, 502),
  (_seen, response) => response.writeHead(429, { 'retry-after': '0' }).end(),
  (_seen, response) => void response.destroy(),
  () => undefined,
  (_seen, response) => void response.end('<html>'),
  (seen, response) => void response.end(JSON.stringify(completion(seen, 'half')).slice(0, -5)),
  (seen, response) => {
    response.writeHead(200, { 'content-length': '4000' }).write(JSON.stringify(completion(seen, 'cut')))
    setImmediate(() => response.destroy())
  },
  () => ({ error: { message: 'no', code: 500 } }),
  () => ({ object: 'error', message: 'no' }),
  (seen) => ({ ...completion(seen, 'other'), model: 'other' }),
  (seen) => completion(seen, 1 as never),
  (seen) => completion(seen, 'aborted', { finish_reason: 'abort' }),
  (seen) => ({ ...completion(seen, 'none'), choices: [] }),
  (_seen, response) => void response.end('NaN'),
]

const good = { model: 'm', choices: [{ text: 'Yes', finish_reason: 'stop' }] }

/** Replies with status 200 that are no answer, by what was asked of which backend; a text is a body as it stands. */
export const brokenReplies: readonly {
  readonly backend: 'vllm' | 'sglang'
  readonly ask: 'generate' | 'classify'
  readonly isChat?: boolean
  readonly bodies: readonly unknown[]
}[] = [
  {
    backend: 'vllm',
    ask: 'generate',
    bodies: [
      '<html>busy</html>',
      JSON.stringify(good).slice(0, -9),
      'null',
      '[]',
      { error: { message: 'no' } },
      { object: 'error', message: 'no', code: 400 },
      { ...good, error: { message: 'no' } },
      { ...good, model: 'other' },
      { ...good, model: undefined },
      { ...good, choices: [] },
      { ...good, choices: [good.choices[0], good.choices[0]] },
      { ...good, choices: [{ text: 1, finish_reason: 'stop' }] },
      { ...good, choices: [{ finish_reason: 'stop' }] },
      { ...good, choices: [{ text: 'Yes', finish_reason: null }] },
      { ...good, choices: [{ text: 'Ye', finish_reason: 'abort' }] },
      { ...good, choices: ['Yes'] },
      '',
      '{"model":"m","choices":[{"text":NaN,"finish_reason":"stop"}]}',
      // Logprobs that do not fit their tokens.
      ...[
        { tokens: ['a'], token_logprobs: [] },
        { tokens: ['a'], token_logprobs: [null] },
        { tokens: [1], token_logprobs: [0] },
        { tokens: ['a'], token_logprobs: [-1], top_logprobs: [{ a: null }] },
      ].map((logprobs) => ({ model: 'm', choices: [{ text: 'a', finish_reason: 'stop', logprobs }] })),
    ],
  },
  {
    backend: 'vllm',
    ask: 'generate',
    isChat: true,
    bodies: [[1], [{ token: 'a' }], [{ token: 'a', logprob: 0, top_logprobs: [1] }]].map((content) => ({
      model: 'm',
      choices: [{ message: { content: 'a' }, finish_reason: 'stop', logprobs: { content } }],
    })),
  },
  {
    backend: 'vllm',
    ask: 'classify',
    bodies: [
      ...[[], '1', [null]].map((probs) => ({ model: 'm', data: [{ index: 0, probs }] })),
      '{"model":"m","data":[{"index":0,"probs":[1e999]}]}',
      { model: 'm', data: [] },
      { model: 'm', data: [{ index: 1, probs: [1] }] },
      { model: 'm', data: [{ index: 'a', probs: [1] }] },
      { model: 'm', data: [null] },
      { model: 'm', data: {} },
      { model: 'm' },
    ],
  },
  {
    backend: 'sglang',
    ask: 'generate',
    bodies: [
      {},
      [],
      { text: 1, meta_info: {} },
      { text: 'a', meta_info: { finish_reason: null } },
      { text: 'a', meta_info: { finish_reason: { type: 'abort' } } },
      { text: 'a', meta_info: { finish_reason: { type: 'stop' }, output_token_logprobs: [[null, 1, 'a']] } },
      { text: 'a', meta_info: { finish_reason: { type: 'stop' }, output_token_logprobs: [3] } },
    ],
  },
  {
    backend: 'sglang',
    ask: 'classify',
    bodies: [
      {},
      [],
      [{}],
      [{ embedding: [] }],
      [{ embedding: [null] }],
      [{ embedding: [1] }, { embedding: [2] }],
    ],
  },
]

import { completion, json, type Script } from '../../support/scripted-server.ts'

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
      { ...good, choices: [{ text: 'Ye', finish_reason: 'error' }] },
      { ...good, choices: [{ text: 'Yes', finish_reason: 'a word of next year' }] },
      { ...good, choices: [{ index: 5, ...good.choices[0] }] },
      { ...good, choices: [{ index: '0', ...good.choices[0] }] },
      { ...good, choices: [{ ...good.choices[0], error: { message: 'no' } }] },
      { ...good, error: 'boom' },
      { ...good, error: {} },
      { ...good, error: 500 },
      { ...good, object: 'error' },
      '{"model":"m","choices":[{"text":"No","text":"Yes","finish_reason":"stop"}]}',
      '{"model":"m","choices":[{"te\\u0078t":"No", "text" : "Yes","finish_reason":"stop"}]}',
      '{"model":"m","choices":[],"choices":[{"text":"Yes","finish_reason":"stop"}]}',
      '{"model":"m","model":"m","choices":[{"text":"\\":\\\\","finish_reason":"stop"}]}',
      // Logprobs that do not fit their tokens.
      ...[
        { tokens: ['a'], token_logprobs: [] },
        { tokens: ['a'], token_logprobs: [null] },
        { tokens: [1], token_logprobs: [0] },
        { tokens: ['a'], token_logprobs: [-1], top_logprobs: [{ a: null }] },
        // No logarithms of probabilities: logits, or more than all.
        { tokens: ['a'], token_logprobs: [5] },
        { tokens: ['a'], token_logprobs: [-1], top_logprobs: [{ a: 5 }] },
        { tokens: ['a'], token_logprobs: [-1], top_logprobs: [{ a: -0.1, b: -0.1 }] },
      ].map((logprobs) => ({ model: 'm', choices: [{ text: 'a', finish_reason: 'stop', logprobs }] })),
    ],
  },
  {
    backend: 'vllm',
    ask: 'generate',
    isChat: true,
    bodies: [
      ...[
        [1],
        [{ token: 'a' }],
        [{ token: 'a', logprob: 0, top_logprobs: [1] }],
        [{ token: 'a', logprob: 5, top_logprobs: [] }],
        [{ token: 'a', logprob: -1, top_logprobs: [{ token: 'a', logprob: 5 }] }],
        [{ token: 'a', logprob: -1, top_logprobs: Array(50).fill({ token: 'a', logprob: -9 }) }],
        [{ token: 'a', logprob: -1, top_logprobs: ['a', 'b', 'c'].map((token) => ({ token, logprob: -1 })) }],
      ].map((content) => ({
        model: 'm',
        choices: [{ message: { content: 'a' }, finish_reason: 'stop', logprobs: { content } }],
      })),
      '{"model":"m","choices":[{"message":{"content":"0"},"message":{"content":"1"},"finish_reason":"stop"}]}',
    ],
  },
  {
    backend: 'vllm',
    ask: 'classify',
    bodies: [
      ...[[], '1', [null]].map((probs) => ({ model: 'm', data: [{ index: 0, probs }] })),
      '{"model":"m","data":[{"index":0,"probs":[1e999]}]}',
      { model: 'm', data: [{ index: 0, num_classes: 3, probs: [0.5] }] },
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
      { text: 'a', meta_info: { finish_reason: { type: 'error' } } },
      { text: 'a', meta_info: { finish_reason: { type: 'stop' } }, error: 'boom' },
      { text: 'a', meta_info: { finish_reason: { type: 'stop' }, output_token_logprobs: [[1, 1, 'a']] } },
      {
        text: 'a',
        meta_info: {
          finish_reason: { type: 'stop' },
          output_token_logprobs: [[-1, 1, 'a']],
          output_top_logprobs: [
            [
              [-2, 1, 'a'],
              [-2, 1, 'a'],
            ],
          ],
        },
      },
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
      [{ embedding: [1], meta_info: { finish_reason: { type: 'abort' } } }],
    ],
  },
]

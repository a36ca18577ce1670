import t from 'tap'
import type { Json, Message, Part, ToolCall } from '../../src/core/sample/sample.ts'
import { readConversation } from '../../src/trainers/chat/conversation.ts'
import { NoMessage } from '../../src/trainers/chat/messages.ts'
import { cpuMs } from '../support/cpu.ts'
import { seeded } from '../support/seeded.ts'

const png = `data:image/png;base64,${Buffer.from('pixels').toString('base64')}`

const read = (...messages: unknown[]) => readConversation(messages)
const assistant = (fields: object) => read({ role: 'assistant', ...fields })[0]

t.test('the text of a message is that of its text parts, as chat templates join them', async (t) => {
  t.strictSame(read({ role: 'user', content: 'a' }, { role: 'assistant', content: null }), [
    { role: 'user', content: 'a' },
    { role: 'assistant', content: '' },
  ])
  const parts = [
    { type: 'text', text: 'a', annotations: [], image_url: null },
    { type: 'input_text', text: 'b' },
    { text: 'c' },
  ]
  t.strictSame(read({ role: 'user', content: parts }), [{ role: 'user', content: 'abc' }])
})

t.test('parts that are no text are kept in their places', async (t) => {
  const parts = [
    { type: 'text', text: 'a' },
    { type: 'image_url', image_url: { url: png, detail: 'low' } },
    { type: 'input_image', image_url: 'https://host/cat.png' },
    { type: 'image' },
    { type: 'image', path: 'cat.png', bytes: null },
    { image: png },
    { type: 'refusal', refusal: 'no' },
    { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } },
    { type: 'hologram', depth: 3 },
    { type: 'text', text: 'b' },
  ]
  const [message] = read({ role: 'user', content: parts })
  t.match(message, {
    content: 'ab',
    parts: [
      { type: 'text', text: 'a' },
      { type: 'image', size: 6, mediaType: 'image/png', detail: 'low' },
      { type: 'image', size: 0, url: 'https://host/cat.png' },
      { type: 'image', size: 0 },
      { type: 'image', size: 0, url: 'cat.png' },
      { type: 'image', size: 6 },
      { type: 'refusal', text: 'no' },
      { type: 'other', name: 'input_audio', value: { input_audio: { data: 'AAAA' } } },
      { type: 'other', name: 'hologram', value: { depth: 3 } },
      { type: 'text', text: 'b' },
    ],
  })
  t.equal(message?.parts?.length, parts.length)
  const hashes = (message?.parts ?? []).flatMap((part) => (part.type === 'image' ? [part.sha256] : []))
  t.equal(hashes[0], hashes[4], 'the same bytes are the same image')
  t.equal(new Set(hashes).size, 4)
})

t.test('what a text part says beside its text is kept, and empty fields are not', (t) => {
  const citation = { title: 'Almanac', page: 7 }
  const content = [
    { type: 'text', text: 'a', citations: [citation], annotations: [], logprobs: null },
    { type: 'text', text: 'b', annotations: {} },
  ]
  t.strictSame(read({ role: 'user', content })[0]?.parts, [
    { type: 'text', text: 'a' },
    { type: 'other', name: 'text', value: content[0] },
    { type: 'text', text: 'b' },
  ])
  t.end()
})

t.test('images are told apart by what they show', async (t) => {
  const hashOf = (image: unknown) => {
    const [part] = assistant({ content: [{ type: 'image_url', image_url: image }] })?.parts ?? []
    return part?.type === 'image' && part.sha256
  }
  const bytes = Buffer.alloc(300, 7).toString('base64')
  t.equal(hashOf(`data:image/png;base64,${bytes}`), hashOf({ url: bytes }))
  t.not(hashOf('data:image/png;base64,###'), hashOf('data:image/png;base64,!!!'))
  t.not(hashOf('data:image/svg+xml,<svg/>'), hashOf('data:image/svg+xml,<g/>'))
  t.not(hashOf({ url: 'https://a/1' }), hashOf({ url: 'https://a/2' }))
  t.not(hashOf([1]), hashOf([2]))
})

t.test('tool calls are read as OpenAI, TRL and templates write them', async (t) => {
  const call = { name: 'search', arguments: { q: 'x' } }
  const text = JSON.stringify(call.arguments)
  const forms = [
    { tool_calls: [{ id: 'c1', type: 'function', function: { name: 'search', arguments: text } }] },
    { tool_calls: [{ id: 'c1', function: call }] },
    { tool_calls: [{ id: 'c1', ...call }] },
    { tool_calls: null, function_call: { id: 'c1', name: 'search', arguments: text } },
  ]
  for (const form of forms)
    t.strictSame(assistant({ content: '', ...form })?.toolCalls, [{ id: 'c1', ...call }])
  t.strictSame(
    assistant({ tool_calls: [{ id: 'c1', type: 'custom', custom: { name: 'sh', input: 'ls' } }] })?.toolCalls,
    [{ id: 'c1', name: 'sh', arguments: 'ls' }],
  )
})

t.test('a call that the policy wrote wrongly is kept as it wrote it', async (t) => {
  const argumentsOf = (sent: unknown) =>
    assistant({ tool_calls: [{ function: { name: 'f', arguments: sent } }] })?.toolCalls?.[0]
  for (const text of ['', 'ls', '[1]', '"x"', 'null', '{"a":1', '{"a":NaN}', '{"a":12345678901234567890}'])
    t.strictSame(argumentsOf(text), { name: 'f', arguments: text, malformed: true }, text)
  t.strictSame(argumentsOf([1]), { name: 'f', arguments: '[1]', malformed: true })
  t.strictSame(argumentsOf(null), { name: 'f', arguments: {} })
  t.strictSame(assistant({ tool_calls: [{ function: { name: 3, arguments: {} } }] })?.toolCalls, [
    { name: '', arguments: '{"name":3,"arguments":{}}', malformed: true },
  ])
})

t.test('reasoning and further fields stay', async (t) => {
  for (const name of ['reasoning_content', 'reasoning', 'thinking'])
    t.strictSame(assistant({ content: 'a', [name]: 'why' }), {
      role: 'assistant',
      content: 'a',
      reasoning: 'why',
    })
  t.strictSame(assistant({ content: 'a', reasoning: 'why', reasoning_content: 'why', audio: null }), {
    role: 'assistant',
    content: 'a',
    reasoning: 'why',
  })
  t.strictSame(
    assistant({ content: [{ type: 'thinking', thinking: 'why' }], refusal: 'no', audio: { id: 1 } }),
    {
      role: 'assistant',
      content: '',
      parts: [{ type: 'refusal', text: 'no' }],
      reasoning: 'why',
      other: { audio: { id: 1 } },
    },
  )
  t.strictSame(read({ role: 'tool', name: 'search', tool_call_id: 'c1', content: 'sunny', id: 'm1' }), [
    { role: 'tool', content: 'sunny', toolCallId: 'c1', name: 'search' },
  ])
})

t.test('the items of the Responses API become turns, in order', async (t) => {
  const conversation = read(
    { role: 'user', content: [{ type: 'input_text', text: 'weather?' }] },
    { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'I look.' }], content: null },
    { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'A moment.' }] },
    { type: 'function_call', call_id: 'c1', name: 'weather', arguments: '{"at":"Bonn"}' },
    { type: 'custom_tool_call', call_id: 'c2', name: 'sh', input: 'date' },
    { type: 'function_call_output', call_id: 'c1', output: 'sunny' },
    { type: 'custom_tool_call_output', call_id: 'c2', output: [{ type: 'input_text', text: 'today' }] },
    { type: 'mcp_call', id: 'm1', name: 'read', arguments: '{}', output: 'page', error: null },
    { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { query: 'Bonn' } },
    { type: 'reasoning', content: [{ type: 'reasoning_text', text: 'It is.' }], summary: [] },
    { type: 'message', role: 'assistant', content: 'Sunny.' },
    { type: 'shell_call_output', call_id: 'c9', output: [{ stdout: 'x' }] },
  )
  t.strictSame(conversation, [
    { role: 'user', content: 'weather?' },
    {
      role: 'assistant',
      content: 'A moment.',
      toolCalls: [
        { id: 'c1', name: 'weather', arguments: { at: 'Bonn' } },
        { id: 'c2', name: 'sh', arguments: 'date' },
      ],
      reasoning: 'I look.',
    },
    { role: 'tool', content: 'sunny', toolCallId: 'c1' },
    { role: 'tool', content: 'today', toolCallId: 'c2' },
    { role: 'assistant', content: '', toolCalls: [{ id: 'm1', name: 'read', arguments: {} }] },
    { role: 'tool', content: 'page', toolCallId: 'm1' },
    {
      role: 'assistant',
      content: 'Sunny.',
      parts: [
        {
          type: 'other',
          name: 'web_search_call',
          value: { type: 'web_search_call', action: { query: 'Bonn' } },
        },
        { type: 'text', text: 'Sunny.' },
      ],
      reasoning: 'It is.',
    },
    {
      role: 'tool',
      content: '',
      toolCallId: 'c9',
      parts: [
        {
          type: 'other',
          name: 'shell_call_output',
          value: { type: 'shell_call_output', call_id: 'c9', output: [{ stdout: 'x' }] },
        },
      ],
    },
  ])
})

t.test('what is no message is refused with its place', async (t) => {
  const refusals: readonly (readonly [unknown, string, RegExp])[] = [
    ['hello', '0', /expected a message, got a text/],
    [{ content: 'a' }, '0.role', /is missing; expected a text/],
    [{ role: 7, content: 'a' }, '0.role', /expected a text, got a number/],
    [{ role: 'user', content: 7 }, '0.content', /expected a text or a list of parts, got a number/],
    [{ role: 'user', content: ['a'] }, '0.content.0', /expected an object, got a text/],
    [{ role: 'user', content: [{}] }, '0.content.0.type', /is missing/],
    [{ role: 'user', content: [{ type: 'text', text: 7 }] }, '0.content.0.text', /got a number/],
    [{ role: 'assistant', tool_calls: {} }, '0.tool_calls', /expected a list of calls, got an object/],
    [{ role: 'assistant', tool_calls: ['f()'] }, '0.tool_calls.0', /expected a tool call, got a text/],
    [{ role: 'tool', content: '', tool_call_id: 7 }, '0.tool_call_id', /got a number/],
    [{ role: 'tool', content: '', x: nested(200) }, '0.x', /nested deeper than 128/],
    [{ type: 'function_call', call_id: 7 }, '0.call_id', /expected a text, got a number/],
  ]
  for (const [message, path, words] of refusals) {
    const refused = refusalOf([message])
    t.match(refused, { path: path.split('.').map((step) => (/^\d+$/.test(step) ? Number(step) : step)) })
    t.match(refused?.message, words)
  }
  const many = Array.from({ length: 4097 }, () => ({ role: 'user', content: '' }))
  t.match(refusalOf(many)?.message, /at most 4096/)
})

function refusalOf(messages: readonly unknown[]): NoMessage | null {
  try {
    readConversation(messages)
    return null
  } catch (error) {
    if (error instanceof NoMessage) return error
    throw error
  }
}

const nested = (depth: number): Json => (depth === 0 ? 1 : [nested(depth - 1)])

t.test('names of prototypes are names like others', async (t) => {
  const hostile = JSON.parse(
    '[{"role":"assistant","content":"a","__proto__":{"tool_calls":[]},"constructor":"x","toString":1,' +
      '"tool_calls":[{"function":{"name":"__proto__","arguments":"{\\"__proto__\\":{\\"polluted\\":1}}"}}]},' +
      '{"__proto__":{"role":"user"},"content":"b","role":"user"}]',
  )
  const [first, second] = readConversation(hostile)
  t.strictSame({ ...first?.other }, { constructor: 'x', toString: 1 })
  t.equal(Object.getPrototypeOf(first), Object.prototype)
  t.equal(first?.toolCalls?.[0]?.name, '__proto__')
  t.notOk('polluted' in {})
  t.strictSame(second, { role: 'user', content: 'b' })
  t.match(refusalOf(JSON.parse('[{"__proto__":{"role":"user"},"content":"b"}]')), { path: [0, 'role'] })
})

const seed = Number(process.env.SEED ?? Date.now() % 1e9)

/** A conversation, and one of the ways to send it. */
class Drawn {
  readonly #random: () => number
  #words = 0

  constructor(random: () => number) {
    this.#random = random
  }

  one<V>(...of: readonly V[]): V {
    return of[Math.floor(this.#random() * of.length)] as V
  }

  some<V>(most: number, make: () => V): V[] {
    return Array.from({ length: Math.floor(this.#random() * (most + 1)) }, make)
  }

  /** Never twice the same. */
  word(): string {
    return `w${this.#words++}w${this.one('', '"', '\n', 'ß\u{1f600}', '</think>')}`
  }

  json(depth = 2): Json {
    if (depth === 0) return this.one<Json>(this.word(), 3, true)
    return this.one<() => Json>(
      () => this.word(),
      () => this.some(2, () => this.json(depth - 1)),
      () => ({ [this.word()]: this.json(depth - 1) }),
    )()
  }

  part(): readonly [unknown, Part] {
    const text = this.word()
    const image: Part = { type: 'image', sha256: '', size: 0, url: text }
    const value = { type: 'file', file: { [this.word()]: this.json() } }
    return this.one<readonly [unknown, Part]>(
      [
        { type: this.one('text', 'input_text', 'output_text'), text },
        { type: 'text', text },
      ],
      [
        { text, image_url: null },
        { type: 'text', text },
      ],
      [{ type: 'image_url', image_url: this.one<unknown>(text, { url: text }) }, image],
      [{ type: 'image', [this.one('image', 'path', 'url')]: text }, image],
      [
        { type: 'refusal', refusal: text },
        { type: 'refusal', text },
      ],
      [value, { type: 'other', name: 'file', value }],
    )
  }

  call(): readonly [unknown, ToolCall] {
    const [name, id, given, text] = [this.word(), this.word(), { [this.word()]: this.json() }, this.word()]
    const call = { name, arguments: given }
    return this.one<readonly [unknown, ToolCall]>(
      [
        { id, type: 'function', function: { name, arguments: JSON.stringify(given) } },
        { id, ...call },
      ],
      [{ function: call, id: null }, call],
      [call, call],
      [
        { id, function: { name, arguments: text } },
        { id, name, arguments: text, malformed: true },
      ],
      [
        { type: 'custom', custom: { name, input: text } },
        { name, arguments: text },
      ],
    )
  }

  message(): readonly [unknown, Message] {
    const role = this.one('system', 'developer', 'user', 'assistant', 'tool', 'function', 'environment')
    const parts = this.some(4, () => this.part())
    const calls = this.some(2, () => this.call())
    const [text, name, id, why] = [this.word(), this.word(), this.word(), this.word()]
    const isText = this.#random() < 0.3
    const kept = parts.map(([, part]) => part)
    const content = isText ? text : kept.map((part) => (part.type === 'text' ? part.text : '')).join('')
    const has = { name: this.one(true, false), id: this.one(true, false), why: this.one(true, false) }
    const sent = {
      role,
      content: isText ? text : parts.map(([one]) => one),
      [this.one('reasoning_content', 'reasoning', 'thinking')]: has.why ? why : null,
      ...(calls.length > 0 && { tool_calls: calls.map(([one]) => one) }),
      ...(has.name && { name }),
      ...(has.id && { tool_call_id: id }),
    }
    const message: Message = {
      role,
      content,
      ...(!isText && kept.some(({ type }) => type !== 'text') && { parts: kept }),
      ...(calls.length > 0 && { toolCalls: calls.map(([, one]) => one) }),
      ...(has.id && { toolCallId: id }),
      ...(has.name && { name }),
      ...(has.why && { reasoning: why }),
    }
    return [sent, message]
  }
}

const withoutHashes = (messages: readonly Message[]): unknown =>
  JSON.parse(JSON.stringify(messages).replace(/"sha256":"[0-9a-f]*"/g, '"sha256":""'))

t.test('any mix of roles, parts and calls arrives whole', async (t) => {
  t.comment(`SEED=${seed}`)
  const draw = new Drawn(seeded(seed))
  for (let run = 0; run < 400; run++) {
    const drawn = draw.some(6, () => draw.message())
    const read = withoutHashes(readConversation(drawn.map(([sent]) => sent)))
    if (!t.strictSame(read, JSON.parse(JSON.stringify(drawn.map(([, message]) => message))))) return
  }
})

/** Values that stand where others belong. */
const oddities: readonly unknown[] = [
  null,
  3,
  true,
  '',
  [],
  {},
  [[]],
  [null],
  { type: 7 },
  ['x'],
  { role: 'a' },
]

t.test('whatever is in a list is read whole, or refused with a place that exists', async (t) => {
  t.comment(`SEED=${seed}`)
  const random = seeded(seed + 1)
  const draw = new Drawn(random)
  /** The same value with one place changed. */
  const changed = (value: unknown): unknown => {
    if (typeof value !== 'object' || value === null || random() < 0.15) return draw.one(...oddities)
    if (Array.isArray(value)) {
      const at = Math.floor(random() * value.length)
      return value.map((one, index) => (index === at ? changed(one) : one))
    }
    const keys = Object.keys(value)
    const key = draw.one(...keys, 'tool_calls', 'content', 'role', 'type', 'text')
    return { ...value, [key]: changed((value as Record<string, unknown>)[key]) }
  }
  let refused = 0
  for (let run = 0; run < 1500; run++) {
    const sent = changed(draw.some(3, () => draw.message()[0])) as unknown
    const list = Array.isArray(sent) ? sent : [sent]
    const text = JSON.stringify(list)
    const refusal = refusalOf(list)
    if (!refusal) {
      const read = JSON.stringify(readConversation(list))
      const lost = [...text.matchAll(/w\d+w/g)].map(([word]) => word).filter((word) => !read.includes(word))
      if (lost.length > 0) t.fail(`lost ${lost.join()} of ${text}`)
      continue
    }
    refused += 1
    const last = refusal.path.length - 1
    let place: unknown = list
    for (const [depth, step] of refusal.path.entries()) {
      if (depth < last || place === undefined) t.type(place, 'object')
      place = (place as Record<string, unknown> | null)?.[step as string]
    }
  }
  t.ok(refused > 100, `${refused} refused`)
})

t.test('reading is linear in what was sent', async (t) => {
  const brackets = '['.repeat(60_000)
  const hostile: Readonly<Record<string, (n: number) => unknown[]>> = {
    'brackets as arguments': (n) => [
      {
        role: 'assistant',
        tool_calls: Array.from({ length: n }, () => ({ name: 'f', arguments: brackets })),
      },
    ],
    'empty arrays as arguments': (n) => [
      {
        role: 'assistant',
        tool_calls: Array.from({ length: n }, () => ({
          name: 'f',
          arguments: `{"a":[${'[],'.repeat(20_000)}[]]}`,
        })),
      },
    ],
    'parts of one message': (n) => [
      { role: 'user', content: Array.from({ length: n * 200 }, () => ({ type: 'text', text: 'a' })) },
    ],
    'items of one turn': (n) =>
      Array.from({ length: n * 16 }, () => ({ type: 'function_call', name: 'f', arguments: '{}' })),
    'a long image': (n) => [
      {
        role: 'user',
        content: [{ type: 'image', image: `data:image/png;base64,${'A'.repeat(n * 40_000)}` }],
      },
    ],
    'a long head': (n) => [
      { role: 'user', content: [{ type: 'image', image: `data:${';a'.repeat(n * 20_000)}` }] },
    ],
  }
  for (const [name, make] of Object.entries(hostile)) {
    const list = make(200)
    const began = cpuMs()
    readConversation(list)
    const took = cpuMs() - began
    t.ok(took < 1000, `${name}: ${took.toFixed()} ms`)
  }
})

t.test('token ids that a server adds to a message are not kept, and cost little', async (t) => {
  const ids = Array.from({ length: 2_000_000 }, (_, at) => at)
  const began = cpuMs()
  const [message] = readConversation([{ role: 'assistant', content: '1', generation_token_ids: ids }])
  const took = cpuMs() - began
  t.strictSame(message, { role: 'assistant', content: '1' })
  t.ok(took < 100, `${took.toFixed()} ms`)
})

t.test('a further field of very many values is left out by name', async (t) => {
  const pixels = Array.from({ length: 200 }, () => Array.from({ length: 100 }, () => [0.5]))
  const [message] = readConversation([{ role: 'assistant', content: '1', pixels, note: { a: [1, 'b'] } }])
  t.strictSame(message?.other, { pixels: 'left out: more than 10000 values', note: { a: [1, 'b'] } })
})

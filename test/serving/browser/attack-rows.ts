/** A sample whose texts attack the page, and what the page must show of its response. */
export interface AttackRow {
  readonly sample: { readonly id: string; readonly response: string }
  readonly shown: readonly string[]
}

const attack = (id: string, response: string, shown: readonly string[]): AttackRow => ({
  sample: {
    id,
    response,
    ...{
      group_id: 'attack',
      prompt: response.slice(0, 4000),
      ground_truth: '1',
      data_source: response.slice(0, 200),
    },
  },
  shown,
})

const markup =
  '<script>globalThis.pwned = 1; alert(1)</script><img src="https://evil.invalid/x.png" onerror="globalThis.pwned = 1"><style>body { display: none }</style><iframe src="javascript:alert(1)"></iframe>'

/** Markup, invisible characters, characters that change the direction of text, and length. */
export const attackRows: readonly AttackRow[] = [
  attack('markup', markup, ['<script>globalThis.pwned', 'onerror="globalThis.pwned = 1">', '<style>']),
  attack('direction', 'pay \u202eevil\u202c \u2066now\u2069 \u200bhidden\ufeff', [
    '⟨U+202E⟩evil',
    '⟨U+2066⟩',
    '⟨U+200B⟩',
  ]),
  attack('control', 'bell\u0007 escape\u001b[31m null\u0000 end', ['⟨U+0007⟩', '⟨U+001B⟩[31m', '⟨U+0000⟩']),
  attack('long-line', 'x'.repeat(1_000_000), ['xxxxxxxx', 'more characters]']),
  attack('marks', `z${'\u0301\u0302\u0303'.repeat(400)} done`, ['done']),
  attack('signs', '\u202e\u200b'.repeat(5000), ['⟨U+202E⟩⟨U+200B⟩', 'more⟩']),
  attack('address', 'javascript:alert(1) [link](javascript:alert(1)) {{alert(1)}}', ['javascript:alert(1)']),
]

/** A rollout that attacks the page in every field of its turns. */
export const attackRollout = {
  id: 'rollout',
  group_id: 'attack',
  ground_truth: '1',
  prompt: [
    {
      role: 'user',
      content: [
        { type: 'text', text: markup },
        { type: 'image_url', image_url: 'data:image/png;base64,cGl4ZWxz' },
      ],
    },
  ],
  response: [
    {
      role: 'assistant',
      content: '',
      reasoning_content: `think ${markup}`,
      tool_calls: [
        { id: markup, function: { name: `call ${markup}`, arguments: JSON.stringify({ at: markup }) } },
        { function: { name: 'cut', arguments: `{"at": ${markup}` } },
      ],
    },
    { role: markup, name: markup, content: `result ${markup}` },
    {
      role: 'tool',
      content: [
        { type: 'text', text: 'seen \u202ereversed' },
        { type: 'refusal', refusal: markup },
        { type: markup, value: markup },
        { type: 'image_url', image_url: 'data:image/svg+xml;base64,cGl4ZWxz' },
      ],
    },
    { role: 'assistant', content: 'done #### 1', [markup]: markup },
  ],
}

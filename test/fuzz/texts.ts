/** Texts by grammar and by damage, as a policy or a judge might write them; the same random numbers give the same texts. */
export class Texts {
  readonly #random: () => number

  constructor(random: () => number) {
    this.#random = random
  }

  below(limit: number): number {
    return Math.floor(this.#random() * limit)
  }

  one<T>(items: readonly T[]): T {
    return items[this.below(items.length)] as T
  }

  /**
   * One to forty pieces, a third of the time damaged afterwards. `own` pieces come as often as all the others. One text of ten repeats
   * something short up to 150 times.
   */
  text(own: readonly string[] = []): string {
    return this.below(10) === 0 ? this.#pumped(own) : this.#joined(own)
  }

  /** What makes a pattern try many ways to read one run: the run has a beginning that fits, and an end that does not. */
  #pumped(own: readonly string[]): string {
    const unit = Array.from({ length: 1 + this.below(3) }, () =>
      this.one(this.below(3) === 0 ? pieces : units),
    ).join('')
    const ends = () => (this.below(3) === 0 ? '' : this.#joined(own))
    return ends() + unit.repeat(20 + this.below(130)).slice(0, 1200) + ends()
  }

  #joined(own: readonly string[]): string {
    let text = ''
    for (let left = 1 + this.below(this.below(10) === 0 ? 40 : 8); left > 0; left--)
      text += own.length > 0 && this.below(2) === 0 ? this.one(own) : this.one(pieces)
    return this.below(3) === 0 ? this.damaged(text) : text
  }

  /** Some of its characters cut, doubled, moved or replaced. */
  damaged(text: string): string {
    for (let left = 1 + this.below(3); left > 0; left--) {
      const [at, length] = [this.below(text.length + 1), this.below(6)]
      const piece = text.slice(at, at + length)
      const put = this.one([
        '',
        piece + piece,
        this.one(pieces),
        String.fromCharCode(this.below(0x3000)),
        String.fromCharCode(0xd800 + this.below(0x800)),
        [...piece].reverse().join(''),
      ])
      text = text.slice(0, at) + put + text.slice(at + length)
    }
    return text
  }
}

/** Of runs. */
const units = [
  ...' \t\n=.,:;-+*_"\'’()[]{}$\\/%?!#|axÀ1',
  'or ',
  'not ',
  'a ',
  'the ',
  '1 ',
  ', ',
  'is ',
  '\\quad ',
]

const pieces = [
  ...[
    '<think>',
    '</think>',
    '<answer>',
    '</answer>',
    '<tool_call>',
    '</tool_call>',
    '<|im_end|>',
    '<|im_start|>assistant\n',
  ],
  ...['#### ', '### ', '\\boxed{', '}', '$', '**', '```json\n', '```', '\n\n', '\n', ' ', '\t', '\r\n', '|'],
  ...[
    '42',
    '-17',
    '3.5',
    '1,234',
    '1e999',
    '0x1F',
    '18446744073709551616',
    '½',
    '٣',
    '７',
    '1/3',
    '-0',
    '.',
    '%',
    'NaN',
    'Infinity',
  ],
  ...[
    'yes',
    'No',
    'A',
    '(B)',
    '[[A]]',
    'correct',
    'Verdict: 1',
    'score: 0.9',
    '1',
    '0',
    'true',
    'null',
    'the answer is ',
  ],
  ...[
    '{"a": 1}',
    '{"score": 1e400}',
    '{"name": "f", "arguments": {"x": [1]}}',
    '{"__proto__": {"x": 1}}',
    '[',
    ']',
    '{',
    '"',
    "'",
    ':',
    ',',
    '\\u0000',
    '\\',
  ],
  ...[
    '[Ann, Bob, Cid]',
    '[0 1 2]',
    '(3 + 5) * 2',
    '\\frac{1}{2}',
    '\\sqrt{2}',
    'x^2 + 1',
    '\\text{m}',
    '(',
    ')',
    '+',
    '*',
    '/',
    '=',
  ],
  ...[
    '\u200b',
    '\u202e',
    '\ufeff',
    '\u0000',
    '\u{e0041}',
    '🙂',
    '客服:',
    '是',
    'é',
    'e\u0301',
    '\u2028',
    'ﬁ',
    '\ud83d',
  ],
  ...['We add the first to the second. ', 'constructor', '__proto__', 'toString', 'x'.repeat(300)],
]

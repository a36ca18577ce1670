/** A generator of LaTeX answers by grammar, and of damage to them; the same seed gives the same texts. */
export class LatexFuzz {
  private state: number

  constructor(seed: number) {
    this.state = seed >>> 0 || 1
  }

  /** An answer of the grammar, or one with some of its characters moved, doubled, cut or replaced. */
  next(): string {
    const text = this.answer(this.below(6))
    return this.below(3) === 0 ? text : this.damaged(text)
  }

  private below(limit: number): number {
    this.state ^= this.state << 13
    this.state ^= this.state >>> 17
    this.state ^= this.state << 5
    return (this.state >>> 0) % limit
  }

  private one(of: readonly string[]): string {
    return of[this.below(of.length)] ?? ''
  }

  private answer(depth: number): string {
    const e = (): string => this.expression(depth)
    const forms = [
      e,
      e,
      e,
      () => `${e()}, ${e()}`,
      () =>
        `${this.one(['(', '[', '\\left(', '\\{'])}${e()}, ${e()}${this.one([')', ']', '\\right)', '\\}'])}`,
      () => `x ${this.one(['=', '<', '\\le', '\\in', '\\approx', '>', '\\ne'])} ${e()}`,
      () => `\\boxed{${e()}}`,
      () => `The answer is $${e()}$.`,
      () => `${e()} \\text{ ${this.one(['cm', 'and', 'miles', 'or', 'apples'])}} ${e()}`,
      () => `\\begin{pmatrix}${e()} & ${e()} \\\\ ${e()} & ${e()}\\end{pmatrix}`,
      () => `(${e()}, ${e()}] \\cup [${e()}, \\infty)`,
    ]
    return forms[this.below(forms.length)]?.() ?? ''
  }

  private expression(depth: number): string {
    if (depth <= 0) return this.leaf()
    const e = (): string => this.expression(depth - 1 - this.below(2))
    const forms = [
      () => `${e()} ${this.one(['+', '-', '\\cdot', '/', '\\pm', '', '\\times'])} ${e()}`,
      () => `\\frac{${e()}}{${e()}}`,
      () => `{${e()}}^{${e()}}`,
      () => `\\sqrt${this.one(['', '[3]', '[n]'])}{${e()}}`,
      () => `\\${this.one(['sin', 'cos', 'tan', 'ln', 'log_2', 'arctan', 'exp', 'sinh'])}(${e()})`,
      () => `|${e()}|`,
      () => `(${e()})${this.one(['', '!', '^2', '\\%', '^\\circ', '_3'])}`,
      () => `\\binom{${e()}}{${e()}}`,
    ]
    return forms[this.below(forms.length)]?.() ?? ''
  }

  private leaf(): string {
    return this.one([
      ...[
        '0',
        '1',
        '2',
        '7',
        '-3',
        '10',
        '0.5',
        '1,000',
        '3.14159',
        '1e9',
        '99999999',
        '10{,}000',
        '0.\\overline{3}',
      ],
      ...[
        'x',
        'y',
        'n',
        'a_1',
        'x_{12}',
        '\\pi',
        'e',
        'i',
        '\\infty',
        '\\alpha',
        'f(x)',
        '\\emptyset',
        '\\mathbb{R}',
      ],
    ])
  }

  private damaged(text: string): string {
    let damaged = text
    for (let k = this.below(4) + 1; k > 0; k--) {
      const at = this.below(damaged.length + 1)
      const to = at + this.below(6)
      const piece = damaged.slice(at, to)
      const kinds = [
        () => damaged.slice(0, at) + damaged.slice(to),
        () => damaged.slice(0, to) + piece.repeat(this.below(20)) + damaged.slice(to),
        () =>
          damaged.slice(0, at) +
          this.one(['\\', '{', '}', '$', '^', '_', '(', ')', '[', ']', '|', '&', '\\\\', ',']) +
          damaged.slice(at),
        () =>
          damaged.slice(0, at) +
          this.one(['\u0000', '４', '²', '√', '٤', '\ud800', '𝟜', '∞', '\n', '!', '%', "'"]) +
          damaged.slice(to),
        () => damaged.slice(to) + damaged.slice(0, at),
        () =>
          damaged.slice(0, at) +
          this.one(['\\frac', '\\sqrt', '\\begin{cases}', '\\end{array}', '^{', '9^{9^9}', '\\text{']) +
          damaged.slice(at),
      ]
      damaged = kinds[this.below(kinds.length)]?.() ?? damaged
    }
    return damaged
  }
}

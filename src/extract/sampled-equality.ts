/** Expressions longer than this are not compared: the readers recurse. */
const maxLength = 2000
const maxDepth = 100

/** Values of the letters at each trial: of both signs, and not near a root or a pole by accident. */
const points: readonly (readonly number[])[] = [
  [0.7390851, 1.3247179],
  [2.236068, 0.5671433],
  [-1.4655712, 2.685452],
  [1.9021605, -0.9159656],
  [-0.6434105, -1.2020569],
]

class Unreadable extends Error {}

/**
 * True where two expressions have the same value at every trial point where both have one, and at two at least. They are
 * of numbers, one-letter variables, `pi`, `sqrt(...)`, `+ - * / ^` and products without a sign.
 */
export function sameExpression(a: string, b: string): boolean {
  if (a.length > maxLength || b.length > maxLength) return false
  try {
    const letters = [...new Set(`${a}${b}`.replaceAll('sqrt', '').replaceAll('pi', '').match(/[a-z]/gi))]
    const values = points.map((point) => {
      const at = new Map(letters.map((letter, i) => [letter, (point[i % 2] ?? 1) + Math.floor(i / 2)]))
      return [new Evaluator(a, at).whole(), new Evaluator(b, at).whole()] as const
    })
    const real = values.filter(([x, y]) => Number.isFinite(x) && Number.isFinite(y))
    return (
      real.length >= 2 &&
      real.every(([x, y]) => Math.abs(x - y) <= 1e-9 * Math.max(1, Math.abs(x), Math.abs(y)))
    )
  } catch (error) {
    if (error instanceof Unreadable) return false
    throw error
  }
}

const token = /\s*(?:(\d+\.?\d*|\.\d+)|(sqrt(?=\s*\()|pi|[a-z])|(\*\*|[-+*/^()]))/iy

/** Computes while it reads; the depth of nesting is limited. */
class Evaluator {
  private readonly tokens: string[] = []
  private at = 0
  private depth = 0
  private readonly letters: ReadonlyMap<string, number>

  constructor(text: string, letters: ReadonlyMap<string, number>) {
    this.letters = letters
    token.lastIndex = 0
    const end = text.trimEnd().length
    for (let from = 0; from < end; from = token.lastIndex) {
      const found = token.exec(text)
      if (!found) throw new Unreadable()
      this.tokens.push(found[0].trim())
    }
  }

  whole(): number {
    const value = this.sum()
    if (this.at < this.tokens.length) throw new Unreadable()
    return value
  }

  private takes(...wanted: string[]): string | undefined {
    const next = this.tokens[this.at]
    if (next === undefined || !wanted.includes(next)) return undefined
    this.at++
    return next
  }

  private sum(): number {
    let value = this.product()
    for (;;) {
      const sign = this.takes('+', '-')
      if (!sign) return value
      const next = this.product()
      value += sign === '+' ? next : -next
    }
  }

  private product(): number {
    let value = this.signed()
    for (;;) {
      const sign = this.takes('*', '/')
      const next = this.tokens[this.at]
      if (sign) {
        const factor = this.signed()
        value = sign === '*' ? value * factor : value / factor
      } else if (next !== undefined && /^[\w.(]/.test(next)) {
        if (isNumber(next) && isNumber(this.tokens[this.at - 1] ?? '')) throw new Unreadable()
        value *= this.power()
      } else return value
    }
  }

  private signed(): number {
    let sign = 1
    for (let next = this.takes('+', '-'); next; next = this.takes('+', '-')) if (next === '-') sign = -sign
    return sign * this.power()
  }

  private power(): number {
    const base = this.atom()
    if (!this.takes('^', '**')) return base
    if (++this.depth > maxDepth) throw new Unreadable()
    const exponent = this.signed()
    this.depth--
    return base ** exponent
  }

  private atom(): number {
    const next = this.tokens[this.at++]
    if (next === undefined) throw new Unreadable()
    if (next === '(' || next === 'sqrt') {
      if (++this.depth > maxDepth) throw new Unreadable()
      if (next === 'sqrt') this.at++
      const value = this.sum()
      if (!this.takes(')')) throw new Unreadable()
      this.depth--
      return next === 'sqrt' ? Math.sqrt(value) : value
    }
    const value = isNumber(next) ? Number(next) : next === 'pi' ? Math.PI : this.letters.get(next)
    if (value === undefined) throw new Unreadable()
    return value
  }
}

const isNumber = (text: string): boolean => /^[\d.]/.test(text)

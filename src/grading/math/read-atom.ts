import { OverBudget } from './budget.ts'
import { type Expression, number, type Of, product, sum } from './expression.ts'
import { add, decimal, multiply, power, rational } from './rational.ts'
import { Cursor, notMathematics, type Token } from './tokens.ts'
import { functionNames } from './vocabulary.ts'

const ten = rational(10n)

/** The exact number of a token: `1.50` is 3/2 with 2 places, `4.2e1` is 42, `0.(3)` is 1/3. */
function decimalValue({ text, repeating }: Token): Expression {
  const [mantissa = '', exponent = ''] = text.toLowerCase().split('e')
  const value = decimal(mantissa)
  const places = mantissa.includes('.') ? mantissa.length - mantissa.indexOf('.') - 1 : 0
  if (repeating !== undefined) {
    if (repeating.length > 50) throw new OverBudget()
    const period = rational(BigInt(repeating), (10n ** BigInt(repeating.length) - 1n) * 10n ** BigInt(places))
    return number(add(value, period))
  }
  if (exponent === '') return number(value, mantissa.includes('.') ? places : null)
  const shift = Number(exponent)
  const scaled = multiply(value, power(ten, shift) ?? ten)
  return number(scaled, places - shift > 0 ? places - shift : null)
}

const half = number(rational(1n, 2n))
const two = number(rational(2n))
const applied = /^[fghFGH](?:_\w+)?'*(?:\^-1)?$/
const matrices = /^(?:p|b|B|small)?matrix$|^array$/
const rowsOfLines = /^(?:cases|aligned|align|align\*|gathered|split)$/

/** Reads atoms: numbers, names, brackets, functions, fractions, matrices. */
export abstract class AtomReader extends Cursor {
  protected bars = 0

  abstract list(): Expression
  abstract relation(): Expression
  abstract sum(): Expression
  abstract factor(): Expression
  abstract juxtaposed(): Expression

  protected atom(): Expression {
    const token = this.next()
    if (token.kind === 'number') return decimalValue(token)
    if (token.kind === 'name') return this.name(token)
    if (token.kind === 'command') return this.nested(() => this.command(token))
    if (token.kind === 'text') return this.word(token)
    return this.nested(() => this.enclosed(token))
  }

  private word({ text }: Token): Expression {
    if (/^[RQZNC]$/.test(text)) return { kind: 'symbol', name: `set ${text}` }
    throw notMathematics
  }

  private name({ text }: Token): Expression {
    if (text === 'pi' || text === 'e' || text === 'i' || text === 'infinity')
      return { kind: 'constant', name: text }
    if (text === 'emptyset') return { kind: 'set', items: [] }
    const ways = this.choices(text)
    if (ways !== null) return ways
    const name = text + this.subscript() + this.primes() + this.inverse(text)
    if (!applied.test(name) || !this.isSign('(') || this.peek()?.spaced) return { kind: 'symbol', name }
    this.next()
    const of = this.nested(() => this.list())
    this.needs(')')
    return { kind: 'call', name: `f ${name}`, args: of.kind === 'list' ? of.items : [of] }
  }

  /** `C(5, 2)`: how many ways there are to choose. null: another name. */
  private choices(name: string): Expression | null {
    const [n, k] = [this.peek(1), this.peek(3)]
    const isPair = this.isSign('(') && this.isSign(',', 2) && this.isSign(')', 4)
    if (name !== 'C' || !isPair || n?.kind !== 'number' || k?.kind !== 'number' || this.peek()?.spaced)
      return null
    this.at += 5
    return { kind: 'call', name: 'binom', args: [decimalValue(n), decimalValue(k)] }
  }

  /** The `^{-1}` of an inverse function that is followed by an argument. */
  private inverse(name: string): string {
    const signs = ['^', '{', '-', '1', '}', '(']
    if (!applied.test(name) || !signs.every((sign, k) => this.peek(k)?.text === sign)) return ''
    this.at += signs.length - 1
    return '^-1'
  }

  /** Reads `_{37}` as `_37`. A subscript is part of the name. */
  protected subscript(): string {
    if (!this.takes('_')) return ''
    if (!this.isSign('{')) return `_${this.digit() ?? this.next().text}`
    let text = ''
    let depth = 0
    do {
      const token = this.next()
      if (token.text === '{') depth++
      else if (token.text === '}') depth--
      else text += token.text
    } while (depth > 0)
    return `_${text}`
  }

  private primes(): string {
    let primes = ''
    while (this.takes("'")) primes += "'"
    return primes
  }

  private enclosed({ text }: Token): Expression {
    if (text === '(' || text === '[') return this.brackets(text)
    if (text === '{') {
      const inner = this.fraction()
      this.needs('}')
      return inner.kind === 'list' ? { ...inner, braced: true } : inner
    }
    if (text === 'set{') return this.set()
    if (text === '|') return this.absolute()
    if (text === 'floor(' || text === 'ceil(') {
      const of = this.sum()
      this.needs(text === 'floor(' ? 'floor)' : 'ceil)')
      return { kind: 'call', name: text.slice(0, -1), args: [of] }
    }
    throw notMathematics
  }

  /** A list, or a fraction or binomial of plain TeX: `{1 \over 2}`, `{5 \choose 2}`. */
  protected fraction(): Expression {
    const over = this.list()
    if (this.takesCommand('over')) return { kind: 'quotient', over, under: this.list() }
    return this.takesCommand('choose') ? { kind: 'call', name: 'binom', args: [over, this.list()] } : over
  }

  private brackets(open: '(' | '['): Expression {
    const bars = this.bars
    this.bars = 0
    const inner = this.list()
    this.bars = bars
    const close = this.next().text
    if (close !== ')' && close !== ']') throw notMathematics
    if (inner.kind === 'list') return { kind: 'tuple', items: inner.items, open, close }
    if ((open === '(') !== (close === ')')) throw notMathematics
    return inner
  }

  private set(): Expression {
    if (this.takes('set}')) return { kind: 'set', items: [] }
    const bars = this.bars
    this.bars = 1
    const inner = this.list()
    this.bars = bars
    const condition = this.takes('|') || this.takes(':') ? this.list() : null
    this.needs('set}')
    if (condition) return setOf(inner, condition)
    return { kind: 'set', items: inner.kind === 'list' ? inner.items : [inner] }
  }

  private absolute(): Expression {
    this.bars++
    const of = this.sum()
    this.bars--
    this.needs('|')
    return { kind: 'call', name: 'abs', args: [of] }
  }

  private command({ text }: Token): Expression {
    if (text === 'frac') return { kind: 'quotient', over: this.argument(), under: this.argument() }
    if (text === 'binom') return { kind: 'call', name: 'binom', args: [this.argument(), this.argument()] }
    if (text === 'sqrt') return this.root()
    if (text.startsWith('begin ')) return this.environment(text.slice(6))
    if (functionNames.has(text)) return this.application(text)
    throw notMathematics
  }

  /** The argument of a LaTeX command: braces, one digit, or one atom. */
  protected argument(): Expression {
    const digit = this.digit()
    return digit === null ? this.nested(() => this.atom()) : number(rational(BigInt(digit)))
  }

  private root(): Expression {
    const degree = this.isSign('[') && !this.peek()?.spaced ? this.next() && this.sum() : two
    if (degree !== two) this.needs(']')
    const of = this.atom()
    return degree === two
      ? { kind: 'power', base: of, exponent: half }
      : { kind: 'call', name: 'root', args: [of, degree] }
  }

  private application(name: string): Expression {
    const base = this.takes('_') ? this.argument() : null
    const exponent = this.takes('^') ? this.argument() : null
    const open = this.peek()
    if (open === undefined) throw notMathematics
    const grouped = open.kind === 'sign' && (open.text === '(' || open.text === '{' || open.text === '[')
    const of = grouped ? this.atom() : this.juxtaposed()
    const args = of.kind === 'tuple' || of.kind === 'list' ? of.items : [of]
    const inverse = exponent?.kind === 'number' && exponent.value.n === -1n && /^(sin|cos|tan)$/.test(name)
    const call: Expression = {
      kind: 'call',
      name: inverse ? `arc${name}` : name,
      args: base ? [...args, base] : args,
    }
    return exponent && !inverse ? { kind: 'power', base: call, exponent } : call
  }

  private environment(name: string): Expression {
    if (name === 'array' && this.isSign('{')) while (!this.takes('}')) this.next()
    if (rowsOfLines.test(name)) return this.lines(name)
    if (!matrices.test(name)) throw notMathematics
    const rows: Expression[][] = []
    while (!this.takesCommand(`end ${name}`)) {
      const row = [this.sum()]
      while (this.takes('&')) row.push(this.sum())
      rows.push(row)
      if (!this.takes('row') && this.peek()?.kind !== 'command') throw notMathematics
    }
    return { kind: 'matrix', rows }
  }

  private lines(name: string): Expression {
    const items: Expression[] = []
    while (!this.takesCommand(`end ${name}`)) {
      this.takes('&')
      const before = items.at(-1)
      // A line that begins with an equals sign goes on with the equation before it.
      if (before !== undefined && this.takes('=')) {
        this.takes('&')
        items[items.length - 1] = continued(before, this.relation())
      } else items.push(this.relation())
      if (!this.takes(',')) this.takes('and')
      if (!this.takes('row') && this.peek()?.kind !== 'command') throw notMathematics
    }
    return items.length === 1 && items[0] ? items[0] : { kind: 'list', items }
  }

  /** `2\frac{1}{3}`: an integer before a fraction of integers is a mixed number. */
  protected mixed(whole: Expression, fraction: Expression): Expression {
    return isWhole(whole) && fraction.kind === 'quotient' && isWhole(fraction.over) && isWhole(fraction.under)
      ? sum([whole, fraction])
      : product([whole, fraction])
  }
}

/** An equation with one more side. */
function continued(of: Expression, next: Expression): Expression {
  const [first, second] = [of, next].map((one) => (one.kind === 'relation' ? one : { sides: [one], ops: [] }))
  return {
    kind: 'relation',
    sides: [...(first?.sides ?? []), ...(second?.sides ?? [])],
    ops: [...(first?.ops ?? []), '=', ...(second?.ops ?? [])],
  }
}

/** The set of real numbers that meet a condition. Over other numbers it stays a list of both. */
function setOf(inner: Expression, condition: Expression): Expression {
  const name = inner.kind === 'relation' && inner.ops[0] === 'in' ? inner.sides[0] : inner
  const domain = inner.kind === 'relation' ? inner.sides[1] : reals
  if (name?.kind !== 'symbol' || domain?.kind !== 'symbol' || domain.name !== reals.name)
    return { kind: 'list', items: [inner, condition] }
  const conditions = condition.kind === 'list' ? condition.items : [condition]
  const left = conditions.map((item) => excluded(item, name.name)).filter((item) => item !== null)
  if (left.length === conditions.length)
    return { kind: 'combination', op: 'difference', parts: [reals, { kind: 'set', items: left }] }
  const isOfName = condition.kind === 'relation' && condition.sides.some((side) => isNamed(side, name.name))
  return isOfName ? { ...condition, builder: true } : { kind: 'list', items: [inner, condition] }
}

const reals: Of<'symbol'> = { kind: 'symbol', name: 'set R' }

/** The value that `x != 3` takes from a name. */
function excluded(of: Expression, name: string): Expression | null {
  const [left, value] = of.kind === 'relation' && of.ops.length === 1 && of.ops[0] === '!=' ? of.sides : []
  return left && isNamed(left, name) && value ? value : null
}

const isNamed = (of: Expression, name: string): boolean => of.kind === 'symbol' && of.name === name

const isWhole = (of: Expression): boolean => of.kind === 'number' && of.decimals === null && of.value.d === 1n

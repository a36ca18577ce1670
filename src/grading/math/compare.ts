import { Allowance, budget } from './budget.ts'
import { equalNumerals, equalQuantities, ratioQuotients, sameUnits } from './compare-numbers.ts'
import { equalRelations, intervalOf, unionOf } from './compare-relations.ts'
import { type Comparison, type Decision, weaker } from './decision.ts'
import { children, type Expression, namesIn, type Of, product, sum } from './expression.ts'
import { assigned, plainForm } from './plain-form.ts'

/** A matrix, or the value of a sum or product of matrices. null: not a matrix, or mismatched shapes. */
function matrixOf(of: Expression): Of<'matrix'> | null {
  if (of.kind === 'matrix') return isRegular(of) ? of : null
  if (of.kind === 'sum') return folded(of.terms, added)
  if (of.kind === 'product') return folded(of.factors, multiplied)
  if (of.kind !== 'quotient') return null
  const matrix = matrixOf(of.over)
  return matrix && mapped(matrix, (cell) => ({ kind: 'quotient', over: cell, under: of.under }))
}

/** True if the expression contains a matrix in its arithmetic. */
function holdsMatrix(of: Expression): boolean {
  if (of.kind === 'matrix') return true
  if (of.kind === 'sum') return of.terms.some(holdsMatrix)
  if (of.kind === 'product') return of.factors.some(holdsMatrix)
  return of.kind === 'quotient' && holdsMatrix(of.over)
}

type Operand = Of<'matrix'> | { readonly scalar: Expression }

function folded(
  of: readonly Expression[],
  step: (a: Operand, b: Operand) => Operand | null,
): Of<'matrix'> | null {
  let value: Operand | null = null
  for (const item of of) {
    const matrix = holdsMatrix(item) ? matrixOf(item) : null
    if (matrix === null && holdsMatrix(item)) return null
    const operand: Operand = matrix ?? { scalar: item }
    value = value === null ? operand : step(value, operand)
    if (value === null) return null
  }
  return value && 'kind' in value ? value : null
}

function added(a: Operand, b: Operand): Operand | null {
  if (!('kind' in a && 'kind' in b)) return null
  if (a.rows.length !== b.rows.length || a.rows[0]?.length !== b.rows[0]?.length) return null
  return mapped(a, (cell, i, j) => sum([cell, b.rows[i]?.[j] ?? cell]))
}

function multiplied(a: Operand, b: Operand): Operand | null {
  if ('scalar' in a) {
    if ('scalar' in b) return { scalar: product([a.scalar, b.scalar]) }
    return mapped(b, (cell) => product([a.scalar, cell]))
  }
  if ('scalar' in b) return mapped(a, (cell) => product([cell, b.scalar]))
  const [inner, columns] = [b.rows.length, b.rows[0]?.length ?? 0]
  if (a.rows[0]?.length !== inner || Math.max(a.rows.length, inner, columns) > budget.matrix) return null
  const rows = a.rows.map((row) =>
    Array.from({ length: columns }, (_, j) =>
      sum(row.flatMap((cell, k) => (b.rows[k]?.[j] ? [product([cell, b.rows[k][j]])] : []))),
    ),
  )
  return { kind: 'matrix', rows }
}

const isRegular = ({ rows }: Of<'matrix'>): boolean => rows.every((row) => row.length === rows[0]?.length)

function mapped(
  of: Of<'matrix'>,
  change: (cell: Expression, i: number, j: number) => Expression,
): Of<'matrix'> {
  return { kind: 'matrix', rows: of.rows.map((row, i) => row.map((cell, j) => change(cell, i, j))) }
}

/** How the answer equals the truth, or null if it does not. Throws OverBudget. */
export function equalAnswers(gold: Expression, answer: Expression, how: Comparison): Decision | null {
  return new Comparer(how).equal(plainForm(gold, true), plainForm(answer))
}

class Comparer {
  private readonly pairs = new Allowance(budget.pairs)
  private readonly how: Comparison

  constructor(how: Comparison) {
    this.how = how
  }

  equal(gold: Expression, answer: Expression): Decision | null {
    this.pairs.spend()
    if (gold.kind === 'relation' || answer.kind === 'relation') return this.relations(gold, answer)
    if (gold.kind === 'list' || answer.kind === 'list') return this.lists(gold, answer)
    if (isGrouping(gold) || isGrouping(answer)) return this.groupings(gold, answer)
    if (holdsMatrix(gold) || holdsMatrix(answer)) return this.matrices(gold, answer)
    if (gold.kind === 'ratio' || answer.kind === 'ratio') return this.ratios(gold, answer)
    if (gold.kind === 'numeral' || answer.kind === 'numeral') return equalNumerals(gold, answer)
    return equalQuantities(gold, answer, this.how)
  }

  private relations(gold: Expression, answer: Expression): Decision | null {
    if (gold.kind === 'relation' && answer.kind === 'relation') {
      const same = equalRelations(gold, answer) ?? this.assignments(gold, answer)
      if (same) return same
    }
    const [want, have] = [assigned(gold), assigned(answer) ?? total(answer)]
    if (have && gold.kind !== 'relation') return this.equal(gold, plainForm(have))
    if (want && answer.kind !== 'relation') return this.equal(plainForm(want), answer)
    const [wanted, given] = [setOfName(gold), setOfName(answer)]
    if (wanted && given && wanted.name === given.name) return this.equal(wanted.set, given.set)
    const interval = gold.kind === 'relation' && isGrouping(answer) ? intervalOf(gold) : null
    if (interval) return this.equal(interval, answer)
    if (answer.kind !== 'relation' || gold.kind === 'relation') return null
    if (!this.how.relationAsSet && answer.builder !== true) return null
    const set = intervalOf(answer)
    return set && this.equal(gold, set)
  }

  /** `D = (0, 1)`: the same name with the same value, which need not be a number. */
  private assignments(gold: Of<'relation'>, answer: Of<'relation'>): Decision | null {
    const [want, have] = [assigned(gold), assigned(answer)]
    if (!want || !have || !gold.sides[0] || !answer.sides[0] || gold.ops[0] !== answer.ops[0]) return null
    const names = this.equal(gold.sides[0], answer.sides[0])
    return names || !this.how.strict ? weaker(names ?? 'exact', this.equal(want, have)) : null
  }

  private lists(gold: Expression, answer: Expression): Decision | null {
    if (gold.kind === 'list' && answer.kind === 'list') {
      const values = (items: readonly Expression[]): Expression[] =>
        items.map((item) => assigned(item) ?? item)
      const named = gold.items.every(assigned) && answer.items.every(assigned)
      if (
        named ||
        namesOne(gold) ||
        namesOne(answer) ||
        gold.items.some(assigned) === answer.items.some(assigned)
      )
        return this.unordered(gold.items, answer.items) ?? this.numbered(gold, answer)
      return this.ordered(values(gold.items), values(answer.items)) ?? this.alone(gold, answer)
    }
    const [list, other] = gold.kind === 'list' ? [gold, answer] : [answer as Of<'list'>, gold]
    if (other.kind === 'set') return this.unordered(items(gold), items(answer))
    if (other.kind === 'combination' && (list === gold || this.how.relationAsSet)) {
      const union = unionOf(list)
      return union && (list === gold ? this.groupings(union, answer) : this.groupings(gold, union))
    }
    if (
      other.kind === 'tuple' &&
      list.items.length === other.items.length &&
      list.items.every((item) => item.kind !== 'tuple') &&
      (list === gold || isPoint(list, other))
    ) {
      return this.ordered(items(gold), list === answer ? inOrder(list) : items(answer))
    }
    return this.alone(gold, answer)
  }

  /** `x_1 = 2, x_2 = 3` for the values 2 and 3 of x. */
  private numbered(gold: Of<'list'>, answer: Of<'list'>): Decision | null {
    const [want, have] = [soleName(gold), soleName(answer)]
    if (want === null || want !== have) return null
    const valuesOf = ({ items }: Of<'list'>) => items.map((item) => assigned(item) ?? item)
    return this.unordered(valuesOf(gold), valuesOf(answer))
  }

  /** A list of identical items equals that item. */
  private alone(gold: Expression, answer: Expression): Decision | null {
    const [want, have] = [items(gold), items(answer)]
    return want.length > 0 && have.length > 0 && (want.length === 1 || have.length === 1)
      ? this.unordered(want, have)
      : null
  }

  private ordered(gold: readonly Expression[], answer: readonly Expression[]): Decision | null {
    if (gold.length !== answer.length) return null
    let decision: Decision | null = 'exact'
    for (const [k, want] of gold.entries()) {
      const have = answer[k]
      decision = weaker(decision, have ? this.equal(want, have) : null)
      if (decision === null) return null
    }
    return decision
  }

  /** Compares sets, ignoring order and repetition. */
  private unordered(gold: readonly Expression[], answer: readonly Expression[]): Decision | null {
    if (gold.length === 0 || answer.length === 0) return gold.length === answer.length ? 'exact' : null
    return weaker(this.covered(gold, answer, true), this.covered(answer, gold, false))
  }

  private covered(
    some: readonly Expression[],
    others: readonly Expression[],
    isGold: boolean,
  ): Decision | null {
    let decision: Decision | null = 'exact'
    for (const item of some) {
      let found: Decision | null = null
      for (const other of others) {
        found = isGold ? this.equal(item, other) : this.equal(other, item)
        if (found) break
      }
      decision = weaker(decision, found)
      if (decision === null) return null
    }
    return decision
  }

  private groupings(gold: Expression, answer: Expression): Decision | null {
    if (gold.kind === 'tuple' && answer.kind === 'tuple') {
      const differs = gold.open !== answer.open || gold.close !== answer.close
      if (differs && gold.items.length === 2) return null
      return this.ordered(gold.items, answer.items)
    }
    if (gold.kind === 'set' && answer.kind === 'set') return this.unordered(gold.items, answer.items)
    if (gold.kind === 'combination' && answer.kind === 'combination') {
      if (gold.op !== answer.op) return null
      return gold.op === 'difference'
        ? this.ordered(gold.parts, answer.parts)
        : this.unordered(gold.parts, answer.parts)
    }
    const [one, other] = gold.kind === 'tuple' ? [gold, answer] : [answer, gold]
    if (one.kind !== 'tuple') return null
    if (other.kind === 'matrix' && one.open === '(' && one.close === ')')
      return this.ordered(items(gold), items(answer))
    return isReals(other) && isReals(one) ? 'exact' : null
  }

  private matrices(gold: Expression, answer: Expression): Decision | null {
    const [want, have] = [matrixOf(gold), matrixOf(answer)]
    if (!want || !have || want.rows[0]?.length !== have.rows[0]?.length) return null
    return this.ordered(want.rows.flat(), have.rows.flat())
  }

  private ratios(gold: Expression, answer: Expression): Decision | null {
    const [want, have] = [ratioQuotients(gold), ratioQuotients(answer)]
    return sameUnits(gold, answer) ? this.ordered(want, have) : null
  }
}

/** `x = 1 or x = 2`, `x_1 = 1, x_2 = 2`: several values of one name. */
const namesOne = (list: Of<'list'>): boolean => soleName(list) !== null

/** The one name, without its numbers, that all items of a list are values of. null: they have several, or none. */
function soleName({ items }: Of<'list'>): string | null {
  const names = items.map((item) => {
    const name = item.kind === 'relation' && assigned(item) ? item.sides[0] : undefined
    return name?.kind === 'symbol' ? name.name.replace(/_\d+$/, '') : null
  })
  const [first = null] = names
  return names.length > 1 && new Set(names).size === 1 ? first : null
}

/** The value of `m + n = 42`: a sum of unknowns is a name for it. */
function total(of: Expression): Expression | null {
  if (of.kind !== 'relation' || of.sides.length !== 2 || of.ops[0] !== '=') return null
  const [name, value] = of.sides
  const isTotal = name?.kind === 'sum' && name.terms.every((term) => term.kind === 'symbol')
  return isTotal && value && namesIn(value).length === 0 ? value : null
}

/** The set that `x \in S` or `1 < x < 2` gives a name. */
function setOfName(of: Expression): { readonly name: string; readonly set: Expression } | null {
  if (of.kind !== 'relation') return null
  const set = of.ops[0] === 'in' ? assigned(of) : intervalOf(of)
  const name = of.sides.find((side) => side.kind === 'symbol')
  return set && name?.kind === 'symbol' ? { name: name.name, set } : null
}

/** `{1,2}` in plain braces, or `x = 1, y = 2`, may stand for (1, 2). A bare list has no order and no brackets. */
function isPoint({ items, braced }: Of<'list'>, { open, close }: Of<'tuple'>): boolean {
  const names = items.map((item) => (assigned(item) ? namesIn(children(item)[0] ?? item).join(' ') : null))
  const isNamed = names.every((name) => name !== null) && new Set(names).size === names.length
  return open === '(' && close === ')' && (braced === true || isNamed)
}

/** The coordinates of a point in the order of their names: `y = 2, x = 3`. */
function inOrder({ items }: Of<'list'>): readonly Expression[] {
  const names = items.map((item) => (assigned(item) ? namesIn(children(item)[0] ?? item).join(' ') : ''))
  const isSpatial = names.every((name) => /^[xyz]$/.test(name))
  if (!isSpatial) return items
  return names
    .map((name, k) => ({ name, item: items[k] as Expression }))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .map(({ item }) => item)
}

const isGrouping = (of: Expression): of is Of<'tuple'> | Of<'set'> | Of<'combination'> =>
  of.kind === 'tuple' || of.kind === 'set' || of.kind === 'combination'

function items(of: Expression): readonly Expression[] {
  if (of.kind === 'list' || of.kind === 'tuple' || of.kind === 'set') return of.items
  if (of.kind !== 'matrix') return [of]
  return of.rows.length === 1 || of.rows[0]?.length === 1 ? of.rows.flat() : [of]
}

const isReals = (of: Expression): boolean =>
  of.kind === 'tuple'
    ? of.items.length === 2 &&
      isInfinite(of.items[1]) &&
      of.items[0]?.kind === 'product' &&
      isInfinite(of.items[0].factors[1])
    : of.kind === 'symbol' && of.name === 'set R'

const isInfinite = (of: Expression | undefined): boolean => of?.kind === 'constant' && of.name === 'infinity'

import { budget } from './budget.ts'
import { type Expression, type Of, product, sum } from './expression.ts'

/** A matrix, or a sum or product of matrices multiplied out; null: not one, or shapes that do not fit. */
export function matrixOf(of: Expression): Of<'matrix'> | null {
  if (of.kind === 'matrix') return isRegular(of) ? of : null
  if (of.kind === 'sum') return folded(of.terms, added)
  if (of.kind === 'product') return folded(of.factors, multiplied)
  if (of.kind !== 'quotient') return null
  const matrix = matrixOf(of.over)
  return matrix && mapped(matrix, (cell) => ({ kind: 'quotient', over: cell, under: of.under }))
}

/** True for an expression with a matrix somewhere in its arithmetic. */
export function holdsMatrix(of: Expression): boolean {
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

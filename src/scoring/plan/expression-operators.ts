interface ExpressionFunction {
  readonly least: number
  readonly most: number
  /** Its arguments in words. */
  readonly takes: string
  apply(...values: readonly number[]): number
}

const unary = (apply: (value: number) => number): ExpressionFunction => ({
  least: 1,
  most: 1,
  takes: 'one number',
  apply: (value = Number.NaN) => apply(value),
})

const several = (apply: (...values: readonly number[]) => number): ExpressionFunction => ({
  least: 1,
  most: 64,
  takes: 'one number or more',
  apply,
})

/** What an expression may call; `clip(value, low, high)`, `log` is natural. */
export const expressionFunctions: ReadonlyMap<string, ExpressionFunction> = new Map([
  ['min', several(Math.min)],
  ['max', several(Math.max)],
  ['abs', unary(Math.abs)],
  [
    'clip',
    {
      least: 3,
      most: 3,
      takes: 'a value, the lowest and the highest',
      apply: (value = Number.NaN, low = Number.NaN, high = Number.NaN) =>
        Math.min(Math.max(value, low), high),
    },
  ],
  ['exp', unary(Math.exp)],
  ['log', unary(Math.log)],
  ['sqrt', unary(Math.sqrt)],
  ['floor', unary(Math.floor)],
  ['ceil', unary(Math.ceil)],
])

/** In doubles; a division by 0 is no error but no finite number. */
export const arithmeticOperators: ReadonlyMap<string, (a: number, b: number) => number> = new Map([
  ['+', (a, b) => a + b],
  ['-', (a, b) => a - b],
  ['*', (a, b) => a * b],
  ['/', (a, b) => a / b],
  ['**', (a, b) => a ** b],
])

/** Exact: no tolerance. */
export const comparisons: ReadonlyMap<string, (a: number, b: number) => boolean> = new Map([
  ['==', (a, b) => a === b],
  ['!=', (a, b) => a !== b],
  ['<', (a, b) => a < b],
  ['<=', (a, b) => a <= b],
  ['>', (a, b) => a > b],
  ['>=', (a, b) => a >= b],
])

/** Names that a step cannot have, since an expression reads them otherwise. */
export const reservedNames: ReadonlySet<string> = new Set([
  ...expressionFunctions.keys(),
  'scored',
  'and',
  'or',
  'not',
  'true',
  'false',
  'True',
  'False',
  'null',
  'this',
])

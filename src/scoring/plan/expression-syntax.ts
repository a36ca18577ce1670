/** What an expression is written in: how its text is parsed, its operators and its functions. */
import jsep from 'jsep'

const longest = 2000

jsep.addBinaryOp('or', 1)
jsep.addBinaryOp('and', 2)
jsep.addUnaryOp('not')
jsep.addLiteral('True', true)
jsep.addLiteral('False', false)

/** Parses an expression, or says what is wrong with its text. */
export function parseExpression(
  source: string,
): { readonly tree: jsep.Expression } | { readonly mistake: string } {
  if (source.length > longest) return { mistake: `an expression has at most ${longest} characters` }
  try {
    const tree = jsep(source)
    // jsep accepts several expressions, or none, as a Compound.
    if (tree.type !== 'Compound') return { tree: regrouped(tree) }
    return { mistake: source.trim() === '' ? 'the expression is empty' : `'${source}' is not one expression` }
  } catch (error) {
    return { mistake: `'${source}' cannot be read: ${error instanceof Error ? error.message : error}` }
  }
}

const comparison = /^(?:[=!<>]=|[<>])$/

/** Regroups `not a == 1` as `not (a == 1)`, as in Python. jsep binds `not` to `a`, which is a number. */
function regrouped(node: jsep.Expression): jsep.Expression {
  const { left, right } = node
  if (node.type !== 'BinaryExpression' || !isNode(left) || !isNode(right)) {
    return Object.fromEntries(
      Object.entries(node).map(([key, child]) => [
        key,
        isNode(child) ? regrouped(child) : Array.isArray(child) ? child.map(loosenedItem) : child,
      ]),
    ) as jsep.Expression
  }
  const inner: jsep.Expression = { ...node, left: regrouped(left), right: regrouped(right) }
  if (!comparison.test(String(node.operator))) return inner
  const bare = withoutNot(left)
  return bare
    ? { type: 'UnaryExpression', operator: 'not', argument: { ...inner, left: regrouped(bare) } }
    : inner
}

const isNode = (value: unknown): value is jsep.Expression =>
  typeof value === 'object' && value !== null && 'type' in value

const loosenedItem = (item: unknown): never => (isNode(item) ? regrouped(item) : item) as never

/** The operand without its leading `not`; null if it has none, or if that is not applied to a number. */
function withoutNot(node: jsep.Expression): jsep.Expression | null {
  const { left, argument } = node
  if (node.type === 'BinaryExpression' && isNode(left)) {
    const bare = withoutNot(left)
    return bare && { ...node, left: bare }
  }
  if (node.type !== 'UnaryExpression' || node.operator !== 'not' || !isNode(argument)) return null
  const isNumber = ['Identifier', 'MemberExpression'].includes(argument.type)
  return isNumber || (argument.type === 'Literal' && typeof argument.value === 'number') ? argument : null
}

interface ExpressionFunction {
  readonly least: number
  readonly most: number
  /** Its arguments, in words. */
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

/** The functions of expressions. `log` is the natural logarithm. */
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

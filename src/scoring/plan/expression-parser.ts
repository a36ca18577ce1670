import jsep from 'jsep'
import { comparisons } from './expression-operators.ts'

const longest = 2000

jsep.addBinaryOp('or', 1)
jsep.addBinaryOp('and', 2)
jsep.addUnaryOp('not')
jsep.addLiteral('True', true)
jsep.addLiteral('False', false)

/** The tree of an expression's text, or what is wrong with the text. */
export function parseExpression(
  source: string,
): { readonly tree: jsep.Expression } | { readonly mistake: string } {
  if (source.length > longest) return { mistake: `an expression has at most ${longest} characters` }
  try {
    const tree = jsep(source)
    // jsep reads several expressions, and none, without a complaint.
    if (tree.type !== 'Compound') return { tree: loosened(tree) }
    return { mistake: source.trim() === '' ? 'the expression is empty' : `'${source}' is not one expression` }
  } catch (error) {
    return { mistake: `'${source}' cannot be read: ${error instanceof Error ? error.message : error}` }
  }
}

/** As in Python, `not a == 1` means `not (a == 1)`; jsep binds `not` to the `a`, which is a number and cannot be meant. */
function loosened(node: jsep.Expression): jsep.Expression {
  const { left, right } = node
  if (node.type !== 'BinaryExpression' || !isNode(left) || !isNode(right)) {
    return Object.fromEntries(
      Object.entries(node).map(([key, child]) => [
        key,
        isNode(child) ? loosened(child) : Array.isArray(child) ? child.map(loosenedItem) : child,
      ]),
    ) as jsep.Expression
  }
  const inner: jsep.Expression = { ...node, left: loosened(left), right: loosened(right) }
  if (!comparisons.has(String(node.operator))) return inner
  const bare = withoutNot(left)
  return bare
    ? { type: 'UnaryExpression', operator: 'not', argument: { ...inner, left: loosened(bare) } }
    : inner
}

const isNode = (value: unknown): value is jsep.Expression =>
  typeof value === 'object' && value !== null && 'type' in value

const loosenedItem = (item: unknown): never => (isNode(item) ? loosened(item) : item) as never

/** The operand without the `not` at its beginning; null where it does not begin with a `not` of a number. */
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

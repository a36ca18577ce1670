import { type AnyNode, parse } from 'acorn'

/** One change to a compiled file: what stands from `start` to `end` becomes `replacement`. */
export interface Mutation {
  readonly start: number
  readonly end: number
  readonly replacement: string
  /** What was changed, such as `< to <=`. */
  readonly kind: string
}

const swapped: Readonly<Record<string, string>> = {
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
  '===': '!==',
  '!==': '===',
  '+': '-',
  '-': '+',
  '*': '/',
  '/': '*',
  '%': '*',
  '&&': '||',
  '||': '&&',
  '??': '&&',
}

/**
 * Every change that a mutant may have, in the order of the file: an operator, a condition, a number, a boolean, a call whose value nobody uses. A
 * changed text is no mutant, because wording is no promise.
 */
export function mutationsOf(code: string): Mutation[] {
  const found: Mutation[] = []
  const add = (start: number, end: number, replacement: string, kind: string) =>
    found.push({ start, end, replacement, kind })

  const visit = (node: AnyNode): void => {
    if (node.type === 'BinaryExpression' || node.type === 'LogicalExpression') {
      const other = swapped[node.operator]
      // Texts are joined with + more often than numbers are added.
      const isText = node.operator === '+' && [node.left, node.right].some(isTextual)
      if (other !== undefined && !isText) {
        const at = code.indexOf(node.operator, node.left.end)
        add(at, at + node.operator.length, other, `${node.operator} to ${other}`)
      }
    }
    if (
      node.type === 'IfStatement' ||
      node.type === 'ConditionalExpression' ||
      node.type === 'WhileStatement'
    ) {
      const { start, end } = node.test
      add(start, end, `!(${code.slice(start, end)})`, 'the opposite condition')
    }
    if (node.type === 'Literal' && typeof node.value === 'number')
      add(node.start, node.end, `(${node.raw} + 1)`, `${node.raw} + 1`)
    if (node.type === 'Literal' && typeof node.value === 'boolean')
      add(node.start, node.end, String(!node.value), `${node.raw} to ${!node.value}`)
    if (node.type === 'ExpressionStatement' && isCall(node.expression))
      add(node.start, node.end, ';', 'no call')
    for (const value of Object.values(node))
      for (const child of Array.isArray(value) ? value : [value])
        if (child !== null && typeof child === 'object' && typeof child.type === 'string') visit(child)
  }
  visit(parse(code, { ecmaVersion: 'latest', sourceType: 'module' }))
  return found.sort((a, b) => a.start - b.start)
}

function isTextual(node: AnyNode): boolean {
  if (node.type === 'BinaryExpression') return isTextual(node.left) || isTextual(node.right)
  return node.type === 'TemplateLiteral' || (node.type === 'Literal' && typeof node.value === 'string')
}

function isCall(node: AnyNode): boolean {
  if (node.type === 'AwaitExpression') return isCall(node.argument)
  // `super()` cannot be left out.
  return node.type === 'CallExpression' && node.callee.type !== 'Super'
}

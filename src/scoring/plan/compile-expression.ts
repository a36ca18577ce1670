import type { Compiled, Expression, KnownSteps, Lookup } from './expression.ts'
import { parseExpression } from './expression-parser.ts'
import { compilePart, type Notes, NoValueError } from './expression-part.ts'

/** For a gate or `when`: must be true or false. */
export function compileCondition(source: string, known: KnownSteps): Compiled<boolean> {
  const notes: Notes = { mistakes: [], steps: new Set(), guarded: new Set() }
  const node = compile(source, known, notes)
  if (node?.type === 'number' && notes.mistakes.length === 0) {
    notes.mistakes.push(`'${source}' is a number where a condition is needed, such as '${source} == 1'`)
  }
  return node?.type === 'boolean' && notes.mistakes.length === 0
    ? { expression: expressionOf(source, notes, node.run), guarded: notes.guarded }
    : { mistakes: notes.mistakes }
}

/** For a formula: must be a number; true and false count as 1 and 0. */
export function compileFormula(source: string, known: KnownSteps): Compiled<number> {
  const notes: Notes = { mistakes: [], steps: new Set(), guarded: new Set() }
  const node = compile(source, known, notes)
  if (!node || notes.mistakes.length > 0) return { mistakes: notes.mistakes }
  const { run } = node
  const expression = expressionOf(source, notes, (lookup) => Number(run(lookup)))
  return { expression, guarded: notes.guarded }
}

function compile(source: string, known: KnownSteps, notes: Notes) {
  const parsed = parseExpression(source)
  if ('mistake' in parsed) {
    notes.mistakes.push(parsed.mistake)
    return null
  }
  return compilePart(parsed.tree, known, notes)
}

function expressionOf<V extends number | boolean>(
  source: string,
  { steps }: Notes,
  run: (lookup: Lookup) => V,
): Expression<V> {
  return {
    source,
    steps: [...steps],
    evaluate(lookup) {
      try {
        return { value: run(lookup) }
      } catch (error) {
        if (error instanceof NoValueError) return { error: error.message }
        throw error
      }
    },
  }
}

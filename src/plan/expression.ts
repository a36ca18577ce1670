import { compileNode, Fault, type Problems } from './expression-compiler.ts'
import { parseExpression } from './expression-parser.ts'

/** The value of a step, or of one of its parts; null: the step has no score. */
export type Lookup = (step: string, part: string | null) => number | null

/** `error`: why there is no value, one sentence (a division by zero, a step without a score). */
export type Evaluated<V> = { readonly value: V } | { readonly error: string }

/** A compiled gate, `when` or formula. Pure; costs no more than its length. */
export interface Expression<V extends number | boolean = number | boolean> {
  readonly source: string
  /** The steps that it names, each once. */
  readonly steps: readonly string[]
  /** A number is always finite. */
  evaluate(lookup: Lookup): Evaluated<V>
}

/** A step that an expression may name (`parts: null`: not known, so any is accepted), or why it may not. */
export type KnownStep = { readonly parts: readonly string[] | null } | { readonly refused: string }
export type KnownSteps = ReadonlyMap<string, KnownStep>

/** A compiled expression, or every mistake in its text. */
export type Compiled<V extends number | boolean> =
  /** `guarded`: the steps that it asks `scored()` of. */
  | { readonly expression: Expression<V>; readonly guarded: ReadonlySet<string> }
  | { readonly mistakes: readonly string[] }

/** For a gate or `when`: must be true or false. */
export function compileCondition(source: string, known: KnownSteps): Compiled<boolean> {
  const problems: Problems = { mistakes: [], steps: new Set(), guarded: new Set() }
  const node = compile(source, known, problems)
  if (node?.type === 'number' && problems.mistakes.length === 0) {
    problems.mistakes.push(`'${source}' is a number where a condition is needed, such as '${source} == 1'`)
  }
  return node?.type === 'boolean' && problems.mistakes.length === 0
    ? { expression: expressionOf(source, problems, node.run), guarded: problems.guarded }
    : { mistakes: problems.mistakes }
}

/** For a formula: must be a number; true and false count as 1 and 0. */
export function compileFormula(source: string, known: KnownSteps): Compiled<number> {
  const problems: Problems = { mistakes: [], steps: new Set(), guarded: new Set() }
  const node = compile(source, known, problems)
  if (!node || problems.mistakes.length > 0) return { mistakes: problems.mistakes }
  const { run } = node
  const expression = expressionOf(source, problems, (lookup) => Number(run(lookup)))
  return { expression, guarded: problems.guarded }
}

function compile(source: string, known: KnownSteps, problems: Problems) {
  const parsed = parseExpression(source)
  if ('mistake' in parsed) {
    problems.mistakes.push(parsed.mistake)
    return null
  }
  return compileNode(parsed.tree, known, problems)
}

function expressionOf<V extends number | boolean>(
  source: string,
  { steps }: Problems,
  run: (lookup: Lookup) => V,
): Expression<V> {
  return {
    source,
    steps: [...steps],
    evaluate(lookup) {
      try {
        return { value: run(lookup) }
      } catch (error) {
        if (error instanceof Fault) return { error: error.message }
        throw error
      }
    },
  }
}

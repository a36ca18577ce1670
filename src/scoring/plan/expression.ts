import type jsep from 'jsep'
import { didYouMean } from '../../core/nearest-name.ts'
import { expressionFunctions, parseExpression } from './expression-syntax.ts'

/**
 * The value of a step, or of one of its parts; null: the step has no score. Of the step `environment`: a reward that the
 * environment gave; null: the row has none of this name.
 */
export type Lookup = (step: string, part: string | null) => number | null

/** `error`: why there is no value, e.g. a division by zero or a step without a score. `isOfRow`: the row lacks something. */
export type Evaluated<V> = { readonly value: V } | { readonly error: string; readonly isOfRow?: boolean }

/** A compiled gate, `when` or formula. Pure, and linear in its length. */
export interface Expression<V extends number | boolean = number | boolean> {
  readonly source: string
  /** The steps that it uses, without duplicates. */
  readonly steps: readonly string[]
  /** The rewards of the environment that it uses, without duplicates. If absent: none. */
  readonly environment?: readonly string[]
  /** Numbers are always finite. */
  evaluate(lookup: Lookup): Evaluated<V>
}

/** A step that an expression may use (`parts: null`: unknown, so any is accepted), or why it may not. */
export type KnownStep = { readonly parts: readonly string[] | null } | { readonly refused: string }

/** Name -> step. */
type KnownSteps = ReadonlyMap<string, KnownStep>

/** A compiled expression, or every mistake in its text. */
export type Compiled<V extends number | boolean> =
  /** `guarded`: the steps that it checks by `scored()`. */
  | { readonly expression: Expression<V>; readonly guarded: ReadonlySet<string> }
  | { readonly mistakes: readonly string[] }

/** Compiles a gate or a `when`, which must be a condition. */
export function compileCondition(source: string, known: KnownSteps): Compiled<boolean> {
  const notes = noNotes(false)
  const node = compile(source, known, notes)
  if (node?.type === 'number' && notes.mistakes.length === 0) {
    notes.mistakes.push(`'${source}' is a number where a condition is needed, such as '${source} == 1'`)
  }
  return node?.type === 'boolean' && notes.mistakes.length === 0
    ? { expression: expressionOf(source, notes, node.run), guarded: notes.guarded }
    : { mistakes: notes.mistakes }
}

/** Compiles a formula, which must be a number. true and false count as 1 and 0. */
export function compileFormula(source: string, known: KnownSteps): Compiled<number> {
  const notes = noNotes(true)
  const node = compile(source, known, notes)
  if (!node || notes.mistakes.length > 0) return { mistakes: notes.mistakes }
  const { run } = node
  const expression = expressionOf(source, notes, (lookup) => Number(run(lookup)))
  return { expression, guarded: notes.guarded }
}

function compile(source: string, known: KnownSteps, notes: CompileNotes) {
  const parsed = parseExpression(source)
  if ('mistake' in parsed) {
    notes.mistakes.push(parsed.mistake)
    return null
  }
  return compilePart(parsed.tree, known, notes)
}

function expressionOf<V extends number | boolean>(
  source: string,
  { steps, environment }: CompileNotes,
  run: (lookup: Lookup) => V,
): Expression<V> {
  return {
    source,
    steps: [...steps],
    ...(environment.size > 0 && { environment: [...environment] }),
    evaluate(lookup) {
      try {
        return { value: run(lookup) }
      } catch (error) {
        if (error instanceof NoValueError)
          return error.isOfRow ? { error: error.message, isOfRow: true } : { error: error.message }
        throw error
      }
    },
  }
}

/** What a compilation collects. */
interface CompileNotes {
  readonly mistakes: string[]
  readonly steps: Set<string>
  readonly guarded: Set<string>
  readonly environment: Set<string>
  readonly isFormula: boolean
}

const noNotes = (isFormula: boolean): CompileNotes => ({
  mistakes: [],
  steps: new Set(),
  guarded: new Set(),
  environment: new Set(),
  isFormula,
})

/** A compiled part of an expression; its type is known before it runs. */
type Part =
  | { readonly type: 'number'; run(lookup: Lookup): number }
  | { readonly type: 'boolean'; run(lookup: Lookup): boolean }

/** An expression has no value for this sample; the message says why. */
class NoValueError extends Error {
  readonly isOfRow: boolean

  constructor(message: string, isOfRow = false) {
    super(message)
    this.isOfRow = isOfRow
  }
}

/** What `environment.NAME` begins with. No step can have this name. */
const environmentName = 'environment'

/** The name in `environment.NAME` or `environment["NAME"]`; null: the node is something else. */
function environmentOf(node: jsep.Expression): string | null {
  const { object, property, computed } = node as jsep.MemberExpression
  if (node.type !== 'MemberExpression' || object.type !== 'Identifier' || object.name !== environmentName)
    return null
  const name: unknown = computed ? property.value : property.name
  return typeof name === 'string' && name !== '' ? name : null
}

/** Compiles to closures, not to code: an expression cannot reach any object of the program. */
function compilePart(node: jsep.Expression, known: KnownSteps, notes: CompileNotes): Part {
  const mistake = (text: string): Part => {
    notes.mistakes.push(text)
    return { type: 'number', run: () => 0 }
  }
  const child = (part: unknown): Part => compilePart(part as jsep.Expression, known, notes)

  const condition = (part: unknown, where: string): ((lookup: Lookup) => boolean) => {
    const before = notes.mistakes.length
    const compiled = child(part)
    if (compiled.type === 'boolean') return compiled.run
    if (notes.mistakes.length === before) {
      mistake(`${where} needs a condition, such as 'rule == 1'; use parentheses to group operators`)
    }
    return () => false
  }
  const number = (part: unknown): ((lookup: Lookup) => number) => {
    const compiled = child(part)
    return compiled.type === 'number' ? compiled.run : (lookup) => Number(compiled.run(lookup))
  }

  const stepValue = (step: string, part: string | null): Part => {
    const named = known.get(step)
    if (named === undefined) return mistake(`there is no step '${step}'${didYouMean(step, known.keys())}`)
    if ('refused' in named) return mistake(`'${step}' cannot be named here: it ${named.refused}`)
    const { parts } = named
    notes.steps.add(step)
    const name = part === null ? step : `${step}.${part}`
    if (part !== null && parts && !parts.includes(part)) {
      return mistake(`the step '${step}' has no part '${part}'${didYouMean(part, parts)}`)
    }
    return {
      type: 'number',
      run(lookup) {
        const value = lookup(step, part)
        if (value === null) throw new NoValueError(`${name} has no score`)
        return value
      },
    }
  }

  const environmentValue = (name: string): Part => {
    if (!notes.isFormula)
      return mistake(
        `environment.${name} can stand in a formula only: a condition that lacked it would not hold, unseen`,
      )
    notes.environment.add(name)
    return {
      type: 'number',
      run(lookup) {
        const value = lookup(environmentName, name)
        if (value === null)
          throw new NoValueError(`environment.${name}: the row has no such reward of the environment`, true)
        return value
      },
    }
  }

  const binary = ({ operator, left, right }: jsep.BinaryExpression): Part => {
    if (operator === 'and' || operator === '&&' || operator === 'or' || operator === '||') {
      const [a, b] = [condition(left, `'${operator}'`), condition(right, `'${operator}'`)]
      const both = operator === 'and' || operator === '&&'
      return {
        type: 'boolean',
        run: both ? (lookup) => a(lookup) && b(lookup) : (lookup) => a(lookup) || b(lookup),
      }
    }
    const compare = comparisons.get(operator)
    if (compare) {
      const [a, b] = [child(left), child(right)]
      if (a.type !== 'number' || b.type !== 'number') {
        return mistake(
          `'${operator}' compares two numbers; write 'a < b and b < c' for a chain, 'not (a == b)' for a negation`,
        )
      }
      return { type: 'boolean', run: (lookup) => compare(a.run(lookup), b.run(lookup)) }
    }
    const compute = arithmeticOperators.get(operator)
    if (!compute) {
      return mistake(
        `the operator '${operator}' is unknown; there are + - * / ** == != < <= > >= and, or, not, ?:`,
      )
    }
    const [a, b] = [number(left), number(right)]
    return { type: 'number', run: (lookup) => finite(compute(a(lookup), b(lookup)), `'${operator}'`) }
  }

  const unary = ({ operator, argument }: jsep.UnaryExpression): Part => {
    if (operator === 'not' || operator === '!') {
      const inner = condition(argument, `'${operator}'`)
      return { type: 'boolean', run: (lookup) => !inner(lookup) }
    }
    const inner = number(argument)
    if (operator === '-') return { type: 'number', run: (lookup) => -inner(lookup) }
    if (operator === '+') return { type: 'number', run: inner }
    return mistake(`the operator '${operator}' is unknown`)
  }

  const conditional = ({ test, consequent, alternate }: jsep.ConditionalExpression): Part => {
    const holds = condition(test, "the part before '?'")
    const [a, b] = [child(consequent), child(alternate)]
    if (a.type === 'boolean' && b.type === 'boolean') {
      return { type: 'boolean', run: (lookup) => (holds(lookup) ? a.run(lookup) : b.run(lookup)) }
    }
    return { type: 'number', run: (lookup) => Number(holds(lookup) ? a.run(lookup) : b.run(lookup)) }
  }

  const call = ({ callee, arguments: given }: jsep.CallExpression): Part => {
    const name = callee.type === 'Identifier' ? String(callee.name) : ''
    if (name === 'scored') return scoredOf(given)
    const named = expressionFunctions.get(name)
    if (!named) {
      return mistake(
        `there is no function '${name}'${didYouMean(name, ['scored', ...expressionFunctions.keys()])}`,
      )
    }
    if (given.length < named.least || given.length > named.most) {
      return mistake(`${name} takes ${named.takes}`)
    }
    const values = given.map(number)
    return {
      type: 'number',
      run: (lookup) => finite(named.apply(...values.map((value) => value(lookup))), name),
    }
  }

  const scoredOf = ([step, ...rest]: readonly jsep.Expression[]): Part => {
    const given = step && rest.length === 0 ? environmentOf(step) : null
    if (given !== null) {
      environmentValue(given)
      return { type: 'boolean', run: (lookup) => lookup(environmentName, given) !== null }
    }
    if (step?.type !== 'Identifier' || rest.length > 0) return mistake('scored takes the name of one step')
    const name = String(step.name)
    const before = notes.mistakes.length
    stepValue(name, null)
    if (notes.mistakes.length === before) notes.guarded.add(name)
    return { type: 'boolean', run: (lookup) => lookup(name, null) !== null }
  }

  switch (node.type) {
    case 'Literal': {
      const { value } = node as jsep.Literal
      if (typeof value === 'boolean') return { type: 'boolean', run: () => value }
      if (typeof value !== 'number' || !Number.isFinite(value)) {
        return mistake(`${String((node as jsep.Literal).raw)} is not a number`)
      }
      return { type: 'number', run: () => value }
    }
    case 'Identifier':
      if (node.name === environmentName)
        return mistake("a reward of the environment is named as 'environment.NAME'")
      return stepValue(String(node.name), null)
    case 'MemberExpression': {
      const { object, property, computed } = node as jsep.MemberExpression
      const given = environmentOf(node)
      if (given !== null) return environmentValue(given)
      if (computed || object.type !== 'Identifier' || property.type !== 'Identifier') {
        return mistake("a part is named as 'step.part'")
      }
      return stepValue(String(object.name), String(property.name))
    }
    case 'BinaryExpression':
      return binary(node as jsep.BinaryExpression)
    case 'UnaryExpression':
      return unary(node as jsep.UnaryExpression)
    case 'ConditionalExpression':
      return conditional(node as jsep.ConditionalExpression)
    case 'CallExpression':
      return call(node as jsep.CallExpression)
    default:
      return mistake('only numbers, steps, operators and functions may stand in an expression')
  }
}

function finite(value: number, what: string): number {
  if (!Number.isFinite(value)) throw new NoValueError(`${what} gives no finite number`)
  return value
}

/** Names that have a meaning in expressions, so that no step can have them. */
export const reservedNames: ReadonlySet<string> = new Set([
  ...expressionFunctions.keys(),
  'scored',
  environmentName,
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

/** In double precision. A division by 0 gives a number that is not finite. */
const arithmeticOperators: ReadonlyMap<string, (a: number, b: number) => number> = new Map([
  ['+', (a, b) => a + b],
  ['-', (a, b) => a - b],
  ['*', (a, b) => a * b],
  ['/', (a, b) => a / b],
  ['**', (a, b) => a ** b],
])

/** Exact, without tolerance. */
const comparisons: ReadonlyMap<string, (a: number, b: number) => boolean> = new Map([
  ['==', (a, b) => a === b],
  ['!=', (a, b) => a !== b],
  ['<', (a, b) => a < b],
  ['<=', (a, b) => a <= b],
  ['>', (a, b) => a > b],
  ['>=', (a, b) => a >= b],
])

/**
 * Splits assert statements of Python: the program is only called, and what is said of its values is computed without it, where its objects decide
 * nothing. What cannot be split stays a statement.
 */

import { computing, otherBuiltins, plainMembers, preludeModules, preludeNames } from './prelude-names.ts'
import {
  type Argument,
  type Expression,
  eachPart,
  formattedText,
  readExpression,
} from './python-expression.ts'
import { tokensOf } from './python-tokens.ts'

/** What an assert asks of a program, and what has to hold. */
export interface Assertion {
  /** The Python expression that is evaluated with the program: a call of it, or a tuple of calls. */
  readonly value: string
  /** A Python expression of `_`, that value, which needs no program. It may name `expected`. */
  readonly holds: string
  /** The Python expression of `expected`, which needs no program. */
  readonly python?: string
  /** A function of the program judges what another one gives. */
  readonly isWeak: boolean
}

const none: ReadonlySet<string> = new Set()

/**
 * Reads an assert statement whose calls of the program's functions can be told from the rest. `helpers`: names that the test's own code defines, without
 * the program. null: another statement, or one in which objects of the program decide. Linear in the text.
 *
 * @example
 * ```ts
 * import { readAssert } from 'reward-gateway/grading'
 *
 * readAssert('assert abs(f(1) - 0.5) < 1e-6') // { value: 'f(1)', holds: 'abs(_ - 0.5) < 1e-6', isWeak: false }
 * ```
 */
export function readAssert(statement: string, helpers: ReadonlySet<string> = none): Assertion | null {
  const tested = testedBy(statement)
  if (tested === null) return null
  const own = ownNames(tested, helpers)
  const splitter = new Splitter(statement, own, helpers)
  return own.size > 0 && splitter.split(tested) ? splitter.result(tested) : null
}

/** The expression that an assert tests, without the parentheses around it. null: another statement, or more than one. */
function testedBy(statement: string): Expression | null {
  const [head] = /^\s*assert\b/.exec(statement) ?? []
  let read = head === undefined ? null : readExpression(statement, head.length)
  if (read === null) return null
  let tested = read.expression
  if (statement[read.next] === ',') read = readExpression(statement, read.next + 1)
  if (read === null) return null
  for (const { token } of tokensOf(statement, read.next)) if (!/^[;\n#]$/.test(token)) return null
  while (tested.kind === 'group') tested = tested.parts[0] as Expression
  return tested
}

// --- Whose a name is -----------------------------------------------------------------------------------------

/** Whether Python knows a name without an import. */
export const isKnown = (name: string): boolean =>
  computing.has(name) ||
  otherBuiltins.has(name) ||
  preludeModules.has(name) ||
  preludeNames.has(name) ||
  /^__\w+__$|(?:Error|Exception(?:Group)?|Exit|Interrupt|Iteration|Warning)$/.test(name)

/** Names of an expression that neither Python nor the test defines. */
function unknownNames(expression: Expression, helpers: ReadonlySet<string>): ReadonlySet<string> {
  const found = new Set<string>()
  eachPart(expression, (part, bound) => {
    if (
      part.kind === 'name' &&
      part.name !== formattedText &&
      !isKnown(part.name) &&
      !helpers.has(part.name) &&
      !bound.includes(part.name)
    )
      found.add(part.name)
  })
  return found
}

/**
 * Names of the program: those that nobody else defines. A test that has none asks for a function that is named like one of Python's modules, as `gcd`, or
 * like a built-in one: then it is what is called first, and what is called with its value is Python's.
 */
function ownNames(expression: Expression, helpers: ReadonlySet<string>): ReadonlySet<string> {
  const found = unknownNames(expression, helpers)
  if (found.size > 0) return found
  for (const known of [preludeNames, computing]) {
    const names = new Set<string>()
    const isCall = (part: Expression, bound: readonly string[] = []): boolean =>
      part.kind === 'call' &&
      part.of.kind === 'name' &&
      known.has(part.of.name) &&
      !bound.includes(part.of.name)
    eachPart(expression, (part, bound) => {
      if (
        part.kind !== 'call' ||
        part.of.kind !== 'name' ||
        !isCall(part, bound) ||
        helpers.has(part.of.name)
      )
        return
      let isInnermost = true
      for (const argument of part.parts) eachPart(argument, (inner) => (isInnermost &&= !isCall(inner)))
      if (isInnermost) names.add(part.of.name)
    })
    if (names.size > 0) return names
  }
  return none
}

// --- Splitting -----------------------------------------------------------------------------------------------

/** Functions that call what they are given. */
const callers: ReadonlySet<string> = new Set([
  'map',
  'filter',
  'reduce',
  'sorted',
  'min',
  'max',
  'starmap',
  'accumulate',
])
/** Types that a value has outside of the program as in it. */
const types = new Set([
  'bool',
  'bytearray',
  'bytes',
  'complex',
  'dict',
  'float',
  'frozenset',
  'int',
  'list',
  'set',
  'str',
  'tuple',
])

/** Finds the calls of the program in an expression. */
class Splitter {
  readonly #text: string
  readonly #own: ReadonlySet<string>
  readonly #helpers: ReadonlySet<string>
  /** What the program evaluates, in order. */
  readonly #calls: Expression[] = []

  constructor(text: string, own: ReadonlySet<string>, helpers: ReadonlySet<string>) {
    this.#text = text
    this.#own = own
    this.#helpers = helpers
  }

  /** False: objects of the program decide a part of it, or it is not understood. `bound`: names of the loops around it. */
  split(part: Expression, bound: readonly string[] = []): boolean {
    const each = (parts: readonly Expression[], names = bound) => parts.every((one) => this.split(one, names))
    if (this.#isOfProgram(part, bound)) return this.#splitChain(part, bound)
    switch (part.kind) {
      case 'constant':
        return true
      case 'name':
        return bound.includes(part.name) || this.#isHelper(part.name)
      case 'call':
        if (
          part.of.kind === 'name' &&
          callers.has(part.of.name) &&
          part.parts.some((one) => this.#isOwnName(one))
        )
          return this.#lift(part, bound)
        if (part.of.kind === 'name' && part.of.name === 'isinstance' && !hasPlainTypes(part.parts))
          return false
        return this.split(part.of, bound) && each(part.parts)
      case 'attribute':
        return this.#hasMember(part) && this.split(part.of, bound)
      case 'item':
        return this.split(part.of, bound) && each(part.parts)
      case 'loop': {
        const inner = [...bound, ...part.bound]
        const [first, ...sources] = part.sources
        if (![...part.parts, ...sources].some((one) => this.#asksProgram(one, inner)))
          return (first === undefined || this.split(first, bound)) && each([...sources, ...part.parts], inner)
        return this.#givesValues(part, inner) && this.#lift(part, bound)
      }
      case 'other':
        return !this.#asksProgram(part, bound) && each(part.parts)
      default:
        return each(part.parts)
    }
  }

  /** The assertion. Call it after `split`. */
  result(tested: Expression): Assertion | null {
    const calls = this.#calls.map((one) => this.#source(one))
    // An object of the program is compared by its own class.
    if (calls.length === 0 || (calls.length > 1 && this.#calls.some((one) => this.#isMade(one)))) return null
    const value = calls.length === 1 ? (calls[0] as string) : `(${calls.join(', ')},)`
    const [left, right] = tested.kind === 'comparison' && tested.parts.length === 2 ? tested.parts : []
    const fixed = [left, right].find((side) => side && !this.#hasCall(side) && !isLiteral(side))
    const holds = this.#rewritten(tested, fixed)
    const isWeak = this.#calls.some((one) => this.#judgesAnother(one))
    return fixed ? { value, holds, python: this.#source(fixed), isWeak } : { value, holds, isWeak }
  }

  // --- Parts that the program evaluates ---

  #isOfProgram(part: Expression, bound: readonly string[]): boolean {
    const { root } = chainOf(part)
    return root.kind === 'name' && this.#own.has(root.name) && !bound.includes(root.name)
  }

  /** `f(1)` of `f(1)[0].strip()`, and all of `A(1).get()`, `f(1).x` and `a.b`, whose members only the program knows. */
  #splitChain(part: Expression, bound: readonly string[]): boolean {
    const { root, links } = chainOf(part)
    let count = links.findIndex(({ kind }) => kind !== 'call')
    if (count < 0) count = links.length
    const isWhole =
      /^[A-Z]/.test(root.kind === 'name' ? root.name : '') ||
      (count === 0 && links[0]?.kind === 'attribute') ||
      links.some((link) => link.kind === 'attribute' && !plainMembers.has(link.name))
    const inner = links.slice(0, isWhole ? links.length : count).at(-1) ?? root
    return (
      this.#lift(inner, bound) &&
      links
        .slice(isWhole ? links.length : count)
        .every((link) => !('parts' in link) || link.parts.every((one) => this.split(one, bound)))
    )
  }

  #lift(part: Expression, bound: readonly string[]): boolean {
    let isFree = true
    eachPart(part, (one) => {
      if (one.kind === 'name' && bound.includes(one.name)) isFree = false
    })
    if (isFree) this.#calls.push(part)
    return isFree
  }

  #asksProgram(part: Expression, bound: readonly string[]): boolean {
    let found = false
    eachPart(part, (one, names) => (found ||= this.#isOfProgram(one, [...bound, ...names])))
    return found
  }

  /** Whether a loop gives values of the program as they are: nothing is computed of them there. */
  #givesValues({ parts, sources }: Extract<Expression, { kind: 'loop' }>, bound: readonly string[]): boolean {
    const gives = (part: Expression): boolean =>
      part.kind === 'constant' ||
      (part.kind === 'name' && bound.includes(part.name)) ||
      this.#isOfProgram(part, bound) ||
      ((part.kind === 'display' || part.kind === 'group') && part.parts.every(gives))
    return parts.every(gives) && !sources.some((one) => this.#asksProgram(one, bound))
  }

  /** Whether it makes an object: `Point(1, 2)`. */
  #isMade(call: Expression): boolean {
    return call.kind === 'call' && call.of.kind === 'name' && /^[A-Z]/.test(call.of.name)
  }

  /** Whether one function of the program is given what another one gives. */
  #judgesAnother(call: Expression): boolean {
    const names = new Set<string>()
    eachPart(call, (part) => {
      if (
        part.kind === 'call' &&
        this.#isOwnName(part.of) &&
        part.of.kind === 'name' &&
        !/^[A-Z]/.test(part.of.name)
      )
        names.add(part.of.name)
    })
    return names.size > 1
  }

  #isOwnName(part: Expression): boolean {
    return part.kind === 'name' && this.#own.has(part.name)
  }

  // --- Parts that need no program ---

  #isHelper(name: string): boolean {
    if (name === '_' || name === 'expected') return false
    return [this.#helpers, computing, preludeNames, preludeModules].some((names) => names.has(name))
  }

  #hasMember({ of, name }: Extract<Expression, { kind: 'attribute' }>): boolean {
    const { root } = chainOf(of)
    const isOfTest = root.kind === 'name' && (this.#helpers.has(root.name) || preludeModules.has(root.name))
    return isOfTest ? !name.startsWith('_') : plainMembers.has(name)
  }

  // --- Texts ---

  #source({ kind, from, to }: Expression): string {
    const text = this.#text.slice(from, to)
    if (text.includes('\n')) return `(${text}\n)`
    return kind === 'loop' ? `(${text})` : text
  }

  #hasCall({ from, to }: Expression): boolean {
    return this.#calls.some((call) => call.from >= from && call.to <= to)
  }

  /** The text of an expression with names in place of calls, and of what is expected. */
  #rewritten({ from, to }: Expression, fixed: Expression | undefined): string {
    const names = this.#calls.map((call, at) => ({
      ...call,
      name: this.#calls.length === 1 ? '_' : `_[${at}]`,
    }))
    const all = [...names, ...(fixed ? [{ ...fixed, name: 'expected' }] : [])].sort((a, b) => a.from - b.from)
    let [text, at] = ['', from]
    for (const one of all) {
      text += this.#text.slice(at, one.from) + one.name
      at = one.to
    }
    text += this.#text.slice(at, to)
    return text.includes('\n') ? `(${text}\n)` : text
  }
}

/** `f`, `f(1)` and `f(1)[0]` of `f(1)[0]`: the root, and what hangs on it. */
function chainOf(part: Expression): { readonly root: Expression; readonly links: readonly Expression[] } {
  const links: Expression[] = []
  let root = part
  while (root.kind === 'call' || root.kind === 'attribute' || root.kind === 'item') {
    links.push(root)
    root = root.of
  }
  return { root, links: links.reverse() }
}

/** An object of a class is decoded as one of Python's own types. */
function hasPlainTypes([, wanted, ...others]: readonly Argument[]): boolean {
  const names = wanted?.kind === 'group' || wanted?.kind === 'display' ? wanted.parts : wanted ? [wanted] : []
  return (
    others.length === 0 &&
    names.length > 0 &&
    names.every((one) => one.kind === 'name' && types.has(one.name))
  )
}

/** Whether Python reads an expression without computing anything that can fail. */
const isLiteral = (part: Expression): boolean =>
  part.kind === 'constant' ||
  ((part.kind === 'group' || part.kind === 'display' || (part.kind === 'sum' && part.parts.length === 1)) &&
    part.parts.every(isLiteral))

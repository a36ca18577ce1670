import { ExactNumber, type JsonOf } from './json.ts'

/** Which values count as the same, besides equal texts, exact numbers, and objects with any key order. */
export interface Sameness {
  /** Lists are compared as sets at every depth, so `[]` also equals `{}`. */
  readonly listsAsSets: boolean
  /** `true` equals 1 and `false` equals 0. */
  readonly booleansAsNumbers: boolean
  /** `false`: NaN differs from everything, including itself. */
  readonly nanEqualsNan: boolean
}

/** Equality without coercion: lists in order, booleans only equal booleans. */
export const typed: Sameness = { listsAsSets: false, booleansAsNumbers: false, nanEqualsNan: true }

/** Python's `==`. */
export const pythonic: Sameness = { listsAsSets: false, booleansAsNumbers: true, nanEqualsNan: false }

/** JSON in which some numbers may be exact. */
export type AnyJson = JsonOf<number | bigint | ExactNumber>

/** Assigns numbers to values so that equal values get equal numbers, in n log n time. */
export class JsonIdentities {
  private readonly numbers = new Map<string, number>()
  /** Cached results, so that no value is walked twice. */
  private readonly walked = new WeakMap<object, number>()
  private readonly sameness: Sameness
  private fresh = 0

  constructor(sameness: Sameness) {
    this.sameness = sameness
  }

  of(value: AnyJson): number {
    // If NaN differs from itself, so does a list that contains it.
    if (typeof value !== 'object' || value === null || !this.sameness.nanEqualsNan) return this.named(value)
    const walked = this.walked.get(value)
    if (walked !== undefined) return walked
    const identity = this.named(value)
    this.walked.set(value, identity)
    return identity
  }

  private named(value: AnyJson): number {
    const key = this.key(value)
    const known = this.numbers.get(key)
    if (known !== undefined) return known
    this.fresh++
    this.numbers.set(key, this.fresh)
    return this.fresh
  }

  private key(value: AnyJson): string {
    if (typeof value === 'string') return `"${value}`
    if (value === null) return 'null'
    if (typeof value === 'boolean') return this.sameness.booleansAsNumbers ? `${Number(value)}` : `${value}`
    if (typeof value === 'number' || typeof value === 'bigint') return this.numeral(value)
    // A number that equals a double's shortest form is that double.
    if (value instanceof ExactNumber) return `number ${value}`
    if (isAnyList(value)) return this.list(value)
    const entries = Array.from(value, ([name, item]) => `${this.of(name)}:${this.of(item)}`)
    return `{${entries.sort().join()}`
  }

  private numeral(value: number | bigint): string {
    if (Number.isNaN(value) && !this.sameness.nanEqualsNan) {
      this.fresh++
      return `NaN${this.fresh}`
    }
    const near = Number(value)
    const exact = typeof value === 'number' || (Number.isFinite(near) && BigInt(near) === value)
    return exact ? `${near}` : `integer ${value}`
  }

  private list(items: readonly AnyJson[]): string {
    const numbers = items.map((item) => this.of(item))
    if (!this.sameness.listsAsSets) return `[${numbers.join()}`
    if (numbers.length === 0) return '{'
    return `[${[...new Set(numbers)].sort((a, b) => a - b).join()}`
  }
}

const isAnyList = (value: readonly AnyJson[] | ReadonlyMap<string, AnyJson>): value is readonly AnyJson[] =>
  Array.isArray(value)

/** Indices of the values of `a` without a partner in `b`. Each value of `b` is a partner only once. */
export function unpaired(
  a: readonly AnyJson[],
  b: readonly AnyJson[],
  sameness: Sameness,
): readonly number[] {
  const identities = new JsonIdentities(sameness)
  const free = new Map<number, number>()
  for (const value of b) {
    const identity = identities.of(value)
    free.set(identity, (free.get(identity) ?? 0) + 1)
  }
  return a.flatMap((value, i) => {
    const identity = identities.of(value)
    const left = free.get(identity) ?? 0
    free.set(identity, left - 1)
    return left > 0 ? [] : [i]
  })
}

/** True if both contain the same values equally often, in any order. */
export function sameMultiset(a: readonly AnyJson[], b: readonly AnyJson[], sameness: Sameness): boolean {
  return a.length === b.length && unpaired(a, b, sameness).length === 0
}

export function same(a: AnyJson, b: AnyJson, sameness: Sameness): boolean {
  return sameMultiset([a], [b], sameness)
}

/** Narrows to a list, which `Array.isArray` cannot do for read-only types. */
export function isList<N>(value: JsonOf<N>): value is readonly JsonOf<N>[] {
  return Array.isArray(value)
}

export function isObject<N>(value: JsonOf<N>): value is ReadonlyMap<string, JsonOf<N>> {
  return value instanceof Map
}

/**
 * Where `a` first differs from `b` without coercion, such as `arguments.x[2]`; '' at the top, null if
 * nowhere.
 *
 * @example
 * ```ts
 * import { firstDifference, readJson } from 'reward-gateway/grading'
 *
 * const [a, b] = [readJson('{"x": [1, 2]}'), readJson('{"x": [1, 3]}')]
 * const place = a && b && firstDifference(a.value, b.value) // 'x[1]'
 * ```
 */
export function firstDifference(a: AnyJson, b: AnyJson): string | null {
  if (isList(a) && isList(b)) {
    for (let i = 0; i < Math.max(a.length, b.length); i++) {
      const path = childDifference(a[i], b[i])
      if (path !== null) return `[${i}]${join(path)}`
    }
    return null
  }
  if (isObject(a) && isObject(b)) {
    for (const key of new Set([...b.keys(), ...a.keys()])) {
      const path = childDifference(a.get(key), b.get(key))
      if (path !== null) return `${key}${join(path)}`
    }
    return null
  }
  return same(a, b, typed) ? null : ''
}

function childDifference(a: AnyJson | undefined, b: AnyJson | undefined): string | null {
  if (a === undefined || b === undefined) return a === b ? null : ''
  return firstDifference(a, b)
}

const join = (path: string): string => (path === '' || path.startsWith('[') ? path : `.${path}`)

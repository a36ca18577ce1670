import { maxIntegerDigits } from '../characters.ts'

/** A JSON number of any length: `digits` times ten to the `exponent`. Equal numbers have equal fields. */
export class ExactNumber {
  /** Without zeros at either end. Empty for 0. */
  readonly digits: string
  readonly exponent: number
  readonly isNegative: boolean
  /** The original spelling. */
  readonly written: string

  /** null if the exponent has more than 15 digits; no meaningful number does. */
  static read(literal: string): ExactNumber | null {
    const [, sign, whole = '', fraction = '', power = '0'] = parts.exec(literal) ?? []
    const written = whole + fraction
    let [start, end] = [0, written.length]
    while (written[start] === '0') start++
    while (end > start && written[end - 1] === '0') end--
    if (start === end) return new ExactNumber('', 0, false, literal)
    if (power.replace(/^[-+]?0*/, '').length > 15) return null
    const exponent = Number(power) - fraction.length + written.length - end
    return new ExactNumber(written.slice(start, end), exponent, sign === '-', literal)
  }

  /** The shortest decimal of a double: 0.1 is exactly one tenth. */
  static of(number: number): ExactNumber {
    const exact = ExactNumber.read(String(number))
    if (exact === null) throw new Error(`${number} is not a JSON number`)
    return exact
  }

  private constructor(digits: string, exponent: number, isNegative: boolean, written: string) {
    this.digits = digits
    this.exponent = exponent
    this.isNegative = isNegative
    this.written = written
  }

  isInteger(): boolean {
    return this.exponent >= 0
  }

  /** Negative if this is less, 0 if equal, positive if greater. */
  compare(other: ExactNumber): number {
    const sign = this.sign()
    if (sign !== other.sign()) return sign - other.sign()
    const magnitude = this.digits.length + this.exponent - other.digits.length - other.exponent
    if (magnitude !== 0) return sign * magnitude
    if (this.digits === other.digits) return 0
    return this.digits < other.digits ? -sign : sign
  }

  /** Whether this is an integer multiple of `step`. Linear in the digits and logarithmic in the exponent. */
  isMultipleOf(step: ExactNumber): boolean {
    const shift = this.exponent - step.exponent
    if (this.digits === '') return true
    // The last digit is never 0, so no power of ten divides the digits.
    if (shift < 0 || step.digits === '') return false
    const modulus = BigInt(step.digits)
    return (remainder(this.digits, modulus) * powerOfTen(shift, modulus)) % modulus === 0n
  }

  /** Equal numbers give equal text. */
  toString(): string {
    return `${this.isNegative ? '-' : ''}${this.digits || '0'}e${this.exponent}`
  }

  private sign(): number {
    if (this.digits === '') return 0
    return this.isNegative ? -1 : 1
  }
}

const parts = /^([-+]?)(\d*)(?:\.(\d*))?(?:[eE]([-+]?\d+))?$/

const chunk = 15

function remainder(digits: string, modulus: bigint): bigint {
  let rest = 0n
  for (let at = 0; at < digits.length; at += chunk) {
    const piece = digits.slice(at, at + chunk)
    rest = (rest * 10n ** BigInt(piece.length) + BigInt(piece)) % modulus
  }
  return rest
}

function powerOfTen(exponent: number, modulus: bigint): bigint {
  let [result, base] = [1n, 10n % modulus]
  for (let left = BigInt(exponent); left > 0n; left >>= 1n) {
    if (left & 1n) result = (result * base) % modulus
    base = (base * base) % modulus
  }
  return result
}

/** A JSON value with numbers of type N. Objects are maps in key order. */
export type JsonOf<N> = null | boolean | N | string | readonly JsonOf<N>[] | ReadonlyMap<string, JsonOf<N>>

/** A JSON value in which integers beyond 2^53 are bigints and other numbers are the nearest double. */
export type JsonValue = JsonOf<number | bigint>

/** A JSON value with exact numbers. A number is a double if the double's shortest form equals it. */
export type ExactJson = JsonOf<number | ExactNumber>

/** A parsed JSON text, and its features that some readers reject. */
export interface JsonReading<V = JsonValue> {
  readonly value: V
  /** Some object repeats a key. `value` holds the last one. */
  readonly repeatedKeys: boolean
  /** The text contains `NaN`, `Infinity` or `-Infinity`. */
  readonly constants: boolean
}

const space = /[ \t\n\r]*/y
const numeral = /(-?(?:0|[1-9]\d*))(\.\d+)?([eE][-+]?\d+)?/y
const plainText = /[ !#-[\]-\uffff]*/y
const hex4 = /[0-9a-fA-F]{4}/y
const constant = /true|false|null|NaN|-?Infinity/y

const constants = new Map<string, boolean | null | number>([
  ['true', true],
  ['false', false],
  ['null', null],
  ['NaN', Number.NaN],
  ['Infinity', Number.POSITIVE_INFINITY],
  ['-Infinity', Number.NEGATIVE_INFINITY],
])

const escapes = new Map([
  ['"', '"'],
  ['\\', '\\'],
  ['/', '/'],
  ['b', '\b'],
  ['f', '\f'],
  ['n', '\n'],
  ['r', '\r'],
  ['t', '\t'],
])

/**
 * Reads a whole text as strict JSON plus Python's `NaN` and `Infinity`. null if it is invalid or deeper than
 * `maxDepth`.
 *
 * @example
 * ```ts
 * import { readJson } from 'reward-gateway/grading'
 *
 * readJson('{"a": [true]}')?.value // new Map([['a', [true]]])
 * ```
 */
export function readJson(text: string, maxDepth = 900): JsonReading | null {
  return readWith(text, maxDepth, readNumber)
}

/** Reads the JSON value that begins at `from`, whatever follows it. `end`: behind its last character. null: none begins there. */
export function readJsonAt(
  text: string,
  from: number,
  maxDepth: number,
): { readonly value: JsonValue; readonly end: number } | null {
  try {
    return new Reader(text, maxDepth, readNumber, from).first()
  } catch (error) {
    if (error instanceof NotJson) return null
    throw error
  }
}

/** Like readJson, but with exact numbers. Also null for an exponent with more than 15 digits. */
export function readExactJson(text: string, maxDepth: number): JsonReading<ExactJson> | null {
  return readWith(text, maxDepth, readExact)
}

function readWith<N>(
  text: string,
  maxDepth: number,
  numberOf: NumberReader<N>,
): JsonReading<JsonOf<N | number>> | null {
  try {
    const reader = new Reader(text, maxDepth, numberOf)
    return { value: reader.whole(), repeatedKeys: reader.repeatedKeys, constants: reader.constants }
  } catch (error) {
    if (error instanceof NotJson) return null
    throw error
  }
}

class NotJson extends Error {}

/**
 * Converts the match `[literal, integer, fraction, exponent]`; the last two may be absent. Throws NotJson to
 * reject it.
 */
type NumberReader<N> = (numeral: RegExpExecArray) => N

const readNumber: NumberReader<number | bigint> = ([whole, integer = '', fraction, exponent]) => {
  if (fraction !== undefined || exponent !== undefined) return Number(whole)
  const near = Number(integer)
  if (Number.isSafeInteger(near)) return near + 0
  if (integer.replace('-', '').length > maxIntegerDigits) throw new NotJson()
  return BigInt(integer)
}

/** Doubles represent every number of this many digits exactly enough to print it back. */
const sureDigits = 15

const readExact: NumberReader<number | ExactNumber> = ([whole, , , exponent]) => {
  const near = Number(whole) + 0
  if (exponent === undefined && whole.length <= sureDigits) return near
  const exact = ExactNumber.read(whole)
  if (exact === null) throw new NotJson()
  return Number.isFinite(near) && exact.compare(ExactNumber.of(near)) === 0 ? near : exact
}

class Reader<N> {
  repeatedKeys = false
  constants = false
  private at: number
  private readonly text: string
  private readonly maxDepth: number
  private readonly numberOf: NumberReader<N>

  constructor(text: string, maxDepth: number, numberOf: NumberReader<N>, from = 0) {
    this.text = text
    this.maxDepth = maxDepth
    this.numberOf = numberOf
    this.at = from
  }

  first(): { readonly value: JsonOf<N | number>; readonly end: number } {
    const value = this.value(this.maxDepth)
    return { value, end: this.at }
  }

  whole(): JsonOf<N | number> {
    const value = this.value(this.maxDepth)
    this.match(space)
    if (this.at < this.text.length) throw new NotJson()
    return value
  }

  private match(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.at
    const match = pattern.exec(this.text)
    if (match) this.at = pattern.lastIndex
    return match
  }

  /** Skips white space, peeks at the next character and consumes it if it is `wanted`. */
  private takes(wanted: string): boolean {
    this.match(space)
    if (this.text[this.at] !== wanted) return false
    this.at++
    return true
  }

  private value(depth: number): JsonOf<N | number> {
    if (this.takes('"')) return this.string()
    if (this.takes('[')) return this.list(depth - 1)
    if (this.takes('{')) return this.object(depth - 1)
    const word = this.match(constant)?.[0]
    if (word !== undefined) {
      if (!/^[tfn]/.test(word)) this.constants = true
      return constants.get(word) ?? null
    }
    return this.number()
  }

  private number(): N {
    const match = this.match(numeral)
    if (!match) throw new NotJson()
    return this.numberOf(match)
  }

  private string(): string {
    let value = ''
    for (;;) {
      value += this.match(plainText)?.[0] ?? ''
      const next = this.text[this.at++]
      if (next === '"') return value
      if (next !== '\\') throw new NotJson()
      const letter = this.text[this.at++] ?? ''
      const code = letter === 'u' ? this.match(hex4)?.[0] : undefined
      const character = code ? String.fromCharCode(Number.parseInt(code, 16)) : escapes.get(letter)
      if (character === undefined) throw new NotJson()
      value += character
    }
  }

  private list(depth: number): JsonOf<N | number> {
    if (depth < 0) throw new NotJson()
    const items: JsonOf<N | number>[] = []
    if (this.takes(']')) return items
    do items.push(this.value(depth))
    while (this.takes(','))
    if (!this.takes(']')) throw new NotJson()
    return items
  }

  private object(depth: number): JsonOf<N | number> {
    if (depth < 0) throw new NotJson()
    const entries = new Map<string, JsonOf<N | number>>()
    if (this.takes('}')) return entries
    do {
      if (!this.takes('"')) throw new NotJson()
      const key = this.string()
      if (!this.takes(':')) throw new NotJson()
      if (entries.has(key)) this.repeatedKeys = true
      entries.set(key, this.value(depth))
    } while (this.takes(','))
    if (!this.takes('}')) throw new NotJson()
    return entries
  }
}

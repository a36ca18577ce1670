import { maxIntegerDigits } from '../digits.ts'
import { ExactNumber } from './exact-number.ts'

/** A JSON value with numbers of the type N; objects are maps in the order of their keys. */
export type JsonOf<N> = null | boolean | N | string | readonly JsonOf<N>[] | ReadonlyMap<string, JsonOf<N>>

/** A JSON value as its author wrote it: integers beyond 2^53 are bigints, other numbers the nearest double. */
export type JsonValue = JsonOf<number | bigint>

/** A JSON value whose numbers are exact: a double where it shows as the number that was written. */
export type ExactJson = JsonOf<number | ExactNumber>

/** A text read as JSON, and what in it not every reader takes. */
export interface JsonReading<V = JsonValue> {
  readonly value: V
  /** Some object names a key twice; the last one is in `value`. */
  readonly repeatedKeys: boolean
  /** `NaN`, `Infinity` or `-Infinity` occurs, which only some readers accept. */
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

/** Reads a whole text as strict JSON, and Python's `NaN` and `Infinity`; null: it is none, or nested deeper than `maxDepth`. */
export function readJson(text: string, maxDepth = 900): JsonReading | null {
  return readWith(text, maxDepth, readNumber)
}

/** As readJson, with every number as it is written. null too for an exponent of more than 15 digits. */
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

/** `[literal, integer, fraction, exponent]`, of which the last two may lack. Throws NotJson for what it does not read. */
type NumberReader<N> = (numeral: RegExpExecArray) => N

const readNumber: NumberReader<number | bigint> = ([whole, integer = '', fraction, exponent]) => {
  if (fraction !== undefined || exponent !== undefined) return Number(whole)
  const near = Number(integer)
  if (Number.isSafeInteger(near)) return near + 0
  if (integer.replace('-', '').length > maxIntegerDigits) throw new NotJson()
  return BigInt(integer)
}

/** Of so many digits every double shows as what was written. */
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
  private at = 0
  private readonly text: string
  private readonly maxDepth: number
  private readonly numberOf: NumberReader<N>

  constructor(text: string, maxDepth: number, numberOf: NumberReader<N>) {
    this.text = text
    this.maxDepth = maxDepth
    this.numberOf = numberOf
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

  /** The next character after white space, consumed if it is `wanted`. */
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

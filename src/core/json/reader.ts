import { isAscii } from 'node:buffer'
import { randomBytes } from 'node:crypto'
import {
  eighthsOf,
  type JsonLimits,
  type NonJsonLiteral,
  type Path,
  type ScanEvents,
  UnreadRow,
  valueEighths,
} from './limits.ts'
import { JsonScan } from './scan.ts'

/** Bytes to scan, or to decode of a long string, between two looks at the clock. */
const stepBytes = 65_536
const pieceBytes = 262_144

const partBytes = 32_768
/** Sized so that a part of nothing but empty lists takes about 20 ms. */
const longestPart = 8 * partBytes
const [comma, quote, brace, list, listEnd] = [0x2c, 0x22, 0x7b, 0x5b, 0x5d]

interface Substitution {
  readonly from: number
  readonly to: number
  readonly text: string
}

/** A value that is built separately. In the text, an unguessable string stands for it. */
interface Apart {
  readonly path: Path
  readonly mark: string
  readonly value: unknown
}

interface LongText {
  readonly path: Path
  readonly mark: string
  readonly to: number
  at: number
  text: string
}

const secret = randomBytes(18).toString('base64url')

/**
 * Reads JSON from UTF-8 bytes step by step: lists of rows and long lists of numbers in parts, long strings in
 * pieces, the rest at once. The result equals that of JSON.parse.
 */
export class JsonReader implements ScanEvents {
  readonly #bytes: Buffer
  readonly #limits: JsonLimits
  readonly #scan: JsonScan
  readonly #apart: Apart[] = []
  readonly #longTexts: LongText[] = []
  readonly #literals: NonJsonLiteral[] = []
  #outside: Substitution[] = []
  #inPart: Substitution[] = []
  #list: { readonly from: number; readonly path: Path; readonly items: unknown[] } | null = null
  #marks = 0
  /** Guesses that may still fail. */
  #guesses = 3
  #guessedEighths = 0
  #lastEnd: number | undefined
  #textBytes = 0
  #value: unknown

  constructor(bytes: Buffer, limits: JsonLimits) {
    this.#bytes = bytes
    this.#limits = limits
    this.#scan = new JsonScan(bytes, limits, this)
  }

  /** Valid after `step` returned false. */
  get value(): unknown {
    return this.#value
  }

  /** The first literal of each kind, in each row and in each member of the root without rows. */
  get literals(): readonly NonJsonLiteral[] {
    return this.#literals
  }

  /** Estimated heap use of the value so far, rounded up. */
  get heapBytes(): number {
    return this.#scan.heapBytes + this.#textBytes
  }

  /** Does some milliseconds of work at most. Returns false when everything is done. Throws SyntaxError. */
  step(): boolean {
    if (this.#longTexts[0]) this.#readPiece(this.#longTexts[0])
    else if (this.#guesses > 0 && this.#scan.rowsAt > 0) this.#guess(this.#scan.rowsAt)
    else if (!this.#scan.read(stepBytes) && this.#longTexts.length === 0) {
      this.#finish()
      return false
    }
    return true
  }

  literal(from: number, to: number, isInList: boolean): void {
    this.#substitute({ from, to, text: 'null' }, isInList)
  }

  firstLiteral(literal: NonJsonLiteral): void {
    this.#literals.push(literal)
  }

  listOpened(from: number, path: Path): void {
    this.#list = { from, path, items: [] }
    // Nothing inside it was a list of its own.
    while ((this.#outside.at(-1)?.from ?? -1) >= from)
      this.#inPart.unshift(this.#outside.pop() as Substitution)
  }

  part(from: number, to: number, count: number): void {
    const list = this.#list
    if (!list) return
    const rows = this.#parse(from, to, this.#inPart, '[', ']') as unknown[]
    this.#inPart = []
    const isEmpty = count === 1 && rows.length === 0 && from === list.from && this.#bytes[to] === listEnd
    if (rows.length !== count && !isEmpty) throw new SyntaxError(`no value after the comma at position ${to}`)
    for (const row of rows) list.items.push(row)
  }

  listClosed(at: number): void {
    const list = this.#list
    if (!list) return
    this.#list = null
    const mark = this.#mark()
    this.#apart.push({ path: list.path, mark, value: list.items })
    this.#outside.push({ from: list.from - 1, to: at + 1, text: `"${mark}"` })
  }

  longText(from: number, to: number, path: Path, isInList: boolean): void {
    const mark = this.#mark()
    this.#longTexts.push({ path, mark, to, at: from, text: '' })
    this.#substitute({ from, to, text: mark }, isInList)
  }

  refused(from: number, to: number, index: number, problem: string): void {
    while ((this.#inPart.at(-1)?.from ?? -1) >= from) this.#inPart.pop()
    const mark = this.#mark()
    this.#inPart.push({ from, to, text: `"${mark}"` })
    this.#apart.push({ path: [...(this.#list?.path ?? []), index], mark, value: new UnreadRow(problem) })
  }

  /**
   * Most rows are objects and need no scan. If a slice that seems to end between two rows parses as a list,
   * it does end there: from a row's start, the text can only be read one way.
   */
  #guess(from: number): void {
    const bytes = this.#bytes
    if (this.#lastEnd === undefined) this.#lastEnd = bytes.lastIndexOf(listEnd)
    const isRest = this.#lastEnd - from <= 2 * partBytes
    const to = isRest ? this.#lastEnd : rowBorder(bytes, from + partBytes, from + longestPart)
    const rows = to > from ? this.#guessed(from, to) : null
    if (rows) {
      this.#scan.skipRows(to, rows.length, this.#guessedEighths)
      return
    }
    this.#guesses--
    this.#scan.read(stepBytes)
  }

  #guessed(from: number, to: number): unknown[] | null {
    let rows: unknown[]
    try {
      rows = JSON.parse(this.#listText(from, to)) as unknown[]
    } catch {
      return null
    }
    this.#guessedEighths = 0
    for (const row of rows) {
      const eighths = eighthsOf(row)
      if (!(eighths >= 0 && eighths <= this.#limits.maxValues * valueEighths)) return null
      this.#guessedEighths += eighths
    }
    if (rows.length === 0) return null
    for (const row of rows) this.#list?.items.push(row)
    return rows
  }

  /**
   * The text between two bytes, in brackets. These are written over the bytes around it for a moment: putting them around the text
   * copies it, which was a tenth of all that a batch of rules allocates.
   */
  #listText(from: number, to: number): string {
    const bytes = this.#bytes
    const [before, after] = [bytes[from - 1] as number, bytes[to] as number]
    bytes[from - 1] = list
    bytes[to] = listEnd
    const text = this.#textOf(from - 1, to + 1)
    bytes[from - 1] = before
    bytes[to] = after
    return text
  }

  #mark(): string {
    return `${secret}${this.#marks++}`
  }

  #substitute(substitution: Substitution, isInList: boolean): void {
    if (isInList) this.#inPart.push(substitution)
    else this.#outside.push(substitution)
  }

  #readPiece(long: LongText): void {
    const end = pieceEnd(this.#bytes, long.at, Math.min(long.at + pieceBytes, long.to), long.to)
    long.text += this.#parse(long.at, end, [], '"', '"') as string
    long.at = end
    if (end < long.to) return
    this.#longTexts.shift()
    this.#apart.push({ path: long.path, mark: long.mark, value: long.text })
  }

  #finish(): void {
    this.#value = this.#parse(0, this.#bytes.length, this.#outside, '', '')
    this.#outside = []
    // Lists come before their contents.
    this.#apart.sort((one, other) => one.path.length - other.path.length)
    for (const apart of this.#apart) this.#place(apart)
  }

  /** If a repeated name replaced the value of this mark, there is nowhere to put it. */
  #place({ path, mark, value }: Apart): void {
    if (path.length === 0) {
      if (this.#value === mark) this.#value = value
      return
    }
    let holder: unknown = this.#value
    for (const [depth, key] of path.entries()) {
      if (typeof holder !== 'object' || holder === null || !Object.hasOwn(holder, key)) return
      const own = holder as Record<string | number, unknown>
      if (depth < path.length - 1) holder = own[key]
      else if (own[key] === mark)
        Object.defineProperty(own, key, { value, enumerable: true, writable: true, configurable: true })
    }
  }

  #parse(from: number, to: number, gone: readonly Substitution[], opening: string, closing: string): unknown {
    let text = opening
    let at = from
    for (const substitution of gone) {
      text += this.#textOf(at, substitution.from) + substitution.text
      at = substitution.to
    }
    text += this.#textOf(at, to) + closing
    try {
      return JSON.parse(text)
    } catch (error) {
      const found = / at position (\d+)/.exec(error instanceof Error ? error.message : '')
      const place = found ? Number(found[1]) - opening.length : Number.NaN
      throw gone.length === 0 && place >= 0
        ? new SyntaxError(
            `a stray character at position ${from + Buffer.byteLength(text.slice(opening.length, opening.length + place))}`,
          )
        : new SyntaxError('it holds a stray character')
    }
  }

  /** Most bodies are plain ASCII, which needs no decoding and takes one byte per character. */
  #textOf(from: number, to: number): string {
    const bytes = this.#bytes.subarray(from, to)
    if (isAscii(bytes)) {
      this.#textBytes += bytes.length
      return bytes.toString('latin1')
    }
    this.#textBytes += 2 * bytes.length
    return bytes.toString('utf8')
  }
}

/** The offset of a comma that seems to separate two objects, from `least` to `most`, or -1. */
function rowBorder(bytes: Buffer, least: number, most: number): number {
  for (let at = bytes.indexOf('}', least); at >= 0 && at < most; at = bytes.indexOf('}', at + 1)) {
    const between = placeOfNext(bytes, at + 1)
    const opening = bytes[between] === comma ? placeOfNext(bytes, between + 1) : bytes.length
    if (bytes[opening] === brace && bytes[placeOfNext(bytes, opening + 1)] === quote) return between
  }
  return -1
}

/** The offset of the first byte that is not white space. */
function placeOfNext(bytes: Buffer, from: number): number {
  let at = from
  while (at < bytes.length && (bytes[at] as number) <= 0x20) at++
  return at
}

/** The first offset from `wished` to `to` that lies between two characters of a string with escapes. */
function pieceEnd(bytes: Buffer, from: number, wished: number, to: number): number {
  let at = wished
  while (at < to && ((bytes[at] as number) & 0xc0) === 0x80) at++
  // An escape has at most six characters and starts with a backslash after an even number of backslashes.
  const last = bytes.subarray(Math.max(from, at - 6), at).lastIndexOf(0x5c)
  if (last < 0 || at >= to) return at
  const begin = Math.max(from, at - 6) + last
  let first = begin
  while (first > from && bytes[first - 1] === 0x5c) first--
  if ((begin - first) % 2 === 1) return at
  return Math.min(to, Math.max(at, begin + (bytes[begin + 1] === 0x75 ? 6 : 2)))
}

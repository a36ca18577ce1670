/**
 * Scans a JSON text before it is parsed: where it can be cut, how many values it holds, and which literals
 * JSON cannot represent. It reads each byte once, can pause, and builds no values. JSON.parse still gets
 * every accepted byte and decides whether the text is valid.
 */
import {
  depthLimit,
  heapBytesPerEighth,
  JsonLimitError,
  type JsonLimits,
  JsonNesting,
  numberEighths,
  type Path,
  type ScanEvents,
  valueEighths,
} from './limits.ts'
import { isBlank, isOddWord, JsonToken, stringEnd } from './token.ts'

/** A list that starts with this many plain numbers (token ids, log probabilities) is read in parts. */
const manyNumbers = 512
const partBytes = 32_768
const longTextBytes = 1_048_576

const [quote, comma, colon] = [0x22, 0x2c, 0x3a]
const [list, listEnd, object, objectEnd] = [0x5b, 0x5d, 0x7b, 0x7d]

export class JsonScan {
  readonly #bytes: Buffer
  readonly #events: ScanEvents
  readonly #limits: JsonLimits
  readonly #maxEighths: number
  #at = 0
  #depth = 0
  readonly #nesting = new JsonNesting()
  #stringFrom = 0
  /** -1: the string has not ended. */
  #stringTo = 0
  readonly #token = new JsonToken()
  /** Cost of the current row, or of everything outside of rows. */
  #eighths = 0
  /** Cost outside of rows, while rows are read. */
  #outside = 0
  /** Cost of finished rows and of long lists of numbers. */
  #done = 0
  /** Numbers since the list's bracket. Far below 0 if the list holds anything else. */
  #numbers = 0
  #listDepth = -1
  #isRows = false
  #partFrom = 0
  #partIndex = 0
  #elementFrom = 0
  #problem: string | null = null
  /** Kinds of literals reported for this row or member: 1 for integers, 2 for others. */
  #told = 0

  constructor(bytes: Buffer, limits: JsonLimits, events: ScanEvents) {
    this.#bytes = bytes
    this.#limits = limits
    this.#events = events
    this.#maxEighths = limits.maxValues * valueEighths
  }

  /** Estimated heap use of the values so far, without their strings, rounded up. */
  get heapBytes(): number {
    return (this.#done + this.#outside + this.#eighths) * heapBytesPerEighth
  }

  /**
   * Reads about `length` more bytes, or up to the end of a part. Returns false at the end of the text. Throws
   * SyntaxError.
   */
  read(length: number): boolean {
    const bytes = this.#bytes
    const until = Math.min(bytes.length, this.#at + length)
    if (this.#stringTo < 0) this.#readString(until)
    else if (this.#token.from >= 0) this.#readToken(this.#token.from, until)
    while (this.#at < until) {
      const byte = bytes[this.#at] as number
      if (byte === quote) {
        this.#stringFrom = this.#at++
        this.#readString(until)
      } else if (byte === comma) {
        if (this.#separate(this.#at++)) break
      } else if (byte === colon) {
        this.#at++
        this.#endName()
      } else if (byte <= 0x20) this.#at++
      else if (byte === list || byte === object) {
        this.#open(this.#at++, byte)
        if (this.rowsAt > 0) break
      } else if (byte === listEnd || byte === objectEnd) {
        if (this.#close(this.#at++, byte)) break
      } else this.#readToken(this.#at, until)
    }
    if (this.#at < bytes.length) return true
    if (this.#depth > 0 || this.#stringTo < 0) throw new SyntaxError('it ends too early')
    return false
  }

  /** The offset of the next row if a row comes next, else -1. */
  get rowsAt(): number {
    return this.#isRows && this.#at === this.#partFrom ? this.#at : -1
  }

  /**
   * Skips `count` rows that were read without the scan: from `rowsAt` to the comma after them, or to the
   * bracket that ends their list. `eighths` is their total cost.
   */
  skipRows(to: number, count: number, eighths: number): void {
    const rows = (this.#nesting.counts[this.#depth] as number) + count
    this.#checkRows(rows)
    this.#nesting.counts[this.#depth] = rows
    this.#done += eighths
    this.#partIndex = rows
    this.#at = to + 1
    this.#partFrom = to + 1
    this.#elementFrom = to + 1
    if (this.#bytes[to] === listEnd) this.#endList(to)
  }

  #readString(until: number): void {
    const end = stringEnd(this.#bytes, this.#at, until)
    this.#stringTo = -1
    if (end > 0) this.#endString(end)
    else this.#at = -end
  }

  #pathAt(depth: number): Path {
    return this.#nesting.path(this.#bytes, depth)
  }

  #endString(at: number): void {
    this.#at = at
    this.#stringTo = at
    this.#numbers = Number.NEGATIVE_INFINITY
    this.#count(valueEighths)
    const from = this.#stringFrom + 1
    if (at - from <= longTextBytes || this.#problem !== null) return
    let next = at
    while ((this.#bytes[next] as number) <= 0x20) next++
    const path = this.#pathAt(this.#depth)
    if (this.#bytes[next] === colon || path.length < this.#depth) return
    this.#events.longText(from, at - 1, path, this.#listDepth > 0)
  }

  #endName(): void {
    if (this.#problem !== null) return
    this.#nesting.names[2 * this.#depth] = this.#stringFrom
    this.#nesting.names[2 * this.#depth + 1] = this.#stringTo
  }

  #count(eighths: number): void {
    if (this.#problem !== null) return
    this.#eighths += eighths
    if (this.#eighths > this.#maxEighths)
      this.#refuse('values', `holds more than ${this.#limits.maxValues} values (limits.max_row_values)`)
  }

  #refuse(kind: 'values' | 'depth', problem: string): void {
    if (!this.#isRows || this.#depth < this.#listDepth) throw new JsonLimitError(kind, problem)
    this.#problem = problem
  }

  #open(at: number, byte: number): void {
    this.#count(valueEighths)
    const depth = ++this.#depth
    if (this.#problem !== null) return
    if (depth > depthLimit) {
      this.#refuse('depth', `is nested deeper than ${depthLimit}`)
      return
    }
    this.#nesting.kinds[depth] = byte
    this.#nesting.opened[depth] = at + 1
    this.#nesting.counts[depth] = 0
    this.#numbers = byte === list ? 0 : Number.NEGATIVE_INFINITY
    const { rows } = this.#limits
    if (depth !== 2 || byte !== list || this.#nesting.kinds[1] !== object || this.#listDepth > 0) return
    if (rows.length > 0 && rows.includes(this.#pathAt(1)[0] as string)) this.#beginRows()
  }

  #beginRows(): void {
    this.#isRows = true
    this.#outside = this.#eighths
    this.#eighths = 0
    this.#told = 0
    this.#beginList(this.#pathAt(1))
  }

  #beginList(path: Path): void {
    this.#listDepth = this.#depth
    this.#partFrom = this.#nesting.opened[this.#depth] as number
    this.#partIndex = 0
    this.#elementFrom = this.#partFrom
    this.#events.listOpened(this.#partFrom, path)
  }

  /** True if a part ends here. */
  #separate(at: number): boolean {
    const depth = this.#depth
    if (depth === this.#listDepth) return this.#endElement(at, false)
    if (this.#problem !== null) return false
    this.#nesting.counts[depth] = (this.#nesting.counts[depth] as number) + 1
    if (depth === 1) this.#told = 0
    if (this.#numbers < manyNumbers || this.#listDepth > 0 || !this.#limits.hasLongLists) return false
    const path = this.#pathAt(depth - 1)
    if (path.length < depth - 1) return false
    this.#eighths -= this.#numbers * numberEighths
    this.#done += this.#numbers * numberEighths
    this.#beginList(path)
    return false
  }

  /** True if a list ends here. */
  #close(at: number, byte: number): boolean {
    this.#numbers = Number.NEGATIVE_INFINITY
    const isListEnd = this.#depth === this.#listDepth
    if (isListEnd) {
      if (byte !== listEnd) throw new SyntaxError(`the wrong bracket closes a list at position ${at}`)
      this.#endElement(at, true)
      this.#endList(at)
    } else if (--this.#depth < 0) throw new SyntaxError(`an unmatched bracket at position ${at}`)
    return isListEnd
  }

  #endList(at: number): void {
    if (this.#isRows) {
      this.#eighths = this.#outside
      this.#outside = 0
    }
    this.#listDepth = -1
    this.#isRows = false
    this.#depth--
    this.#events.listClosed(at)
  }

  #endElement(at: number, isLast: boolean): boolean {
    const index = this.#nesting.counts[this.#depth] as number
    if (this.#isRows) this.#endRow(at, index, isLast)
    this.#elementFrom = at + 1
    this.#nesting.counts[this.#depth] = index + 1
    if (!isLast && at - this.#partFrom < partBytes) return false
    this.#events.part(this.#partFrom, at, index + 1 - this.#partIndex)
    this.#partFrom = at + 1
    this.#partIndex = index + 1
    return true
  }

  #endRow(at: number, index: number, isLast: boolean): void {
    if (!isLast || !isBlank(this.#bytes, this.#elementFrom, at)) this.#checkRows(index + 1)
    if (this.#problem === null) this.#done += this.#eighths
    else this.#events.refused(this.#elementFrom, at, index, this.#problem)
    this.#problem = null
    this.#eighths = 0
    this.#told = 0
  }

  #checkRows(count: number): void {
    const { maxRows } = this.#limits
    if (count > maxRows) throw new JsonLimitError('rows', `holds more than ${maxRows} rows`)
  }

  /**
   * Reads a number, a word, or a stray character, which JSON.parse will reject. Numbers may have any length.
   */
  #readToken(from: number, until: number): void {
    const at = this.#token.read(this.#bytes, from, this.#at, until)
    this.#at = Math.max(Math.abs(at), from + 1)
    if (at < 0) return
    this.#numbers++
    if (this.#isFree) this.#done += numberEighths
    else this.#count(numberEighths)
    if (this.#problem !== null) return
    if (this.#token.isSuspect(at - from)) this.#checkToken(from, at)
  }

  /** Elements of a long list of numbers cost nothing. */
  get #isFree(): boolean {
    return this.#depth === this.#listDepth && !this.#isRows
  }

  #checkToken(from: number, to: number): void {
    const isInteger = this.#token.isInteger(this.#bytes[from])
    // Beyond the range of a double, whatever follows.
    const literal = this.#bytes.toString('latin1', from, Math.min(to, from + (isInteger ? 40 : 1024)))
    if (!isOddWord(literal)) return
    // Each is a piece of the text that is reassembled, unless it comes in parts.
    if (!this.#isFree) this.#count(valueEighths)
    if (this.#problem !== null) return
    this.#events.literal(from, to, this.#listDepth > 0)
    const kind = isInteger ? 1 : 2
    if ((this.#told & kind) !== 0) return
    this.#told |= kind
    this.#events.firstLiteral({ path: this.#pathAt(this.#depth), literal })
  }
}

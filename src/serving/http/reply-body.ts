import { Readable } from 'node:stream'
import { turnForOne } from '../../core/slices.ts'

/** Characters that are collected before they are sent. */
const pieceChars = 128 * 1024
/** Numbers of a list, and characters of a text, that are serialized at once. */
const numbersAtOnce = 1024
const textChars = 64 * 1024
/** Replies up to this length are sent as one string. */
const maxTextLength = 512 * 1024

/**
 * A reply body made of pieces: a string if it is short, else a stream that produces one part per turn of the event loop,
 * and no more than its reader takes. A reply with tens of thousands of results is never held as one string.
 */
export function replyBody(pieces: Iterator<string>): string | Readable {
  const first = take(pieces, maxTextLength)
  return first.isDone ? first.text : streamOf(pieces, first.text)
}

function streamOf(pieces: Iterator<string>, first: string): Readable {
  let next = { text: first, isDone: false }
  const body: Readable = new Readable({
    highWaterMark: pieceChars,
    read() {
      // Otherwise a fast socket would keep the event loop busy until the end of the reply.
      setImmediate(() => {
        const turn = turnForOne()
        if (turn === null) pushNext()
        else void turn.then(pushNext)
      })
    },
  })
  const pushNext = (): void => {
    if (body.destroyed) return
    try {
      const { text, isDone } = next
      if (!isDone) next = take(pieces, pieceChars)
      body.push(text)
      if (isDone) body.push(null)
    } catch (error) {
      body.destroy(error as Error)
    }
  }
  return body
}

/** A reply body of lines that are added over time. Lines are serialized only when the client reads them. */
export class LineStream {
  readonly body: Readable
  #waiting: (Iterator<string> | undefined)[] = []
  #head = 0
  #isEnded = false
  #isWanted = false
  #isDue = false

  constructor() {
    this.body = new Readable({
      highWaterMark: pieceChars,
      read: () => {
        this.#isWanted = true
        this.#wake()
      },
    })
  }

  /** `line`: its pieces, including the line break. */
  add(line: Iterable<string>): void {
    this.#waiting.push(line[Symbol.iterator]())
    this.#wake()
  }

  end(): void {
    this.#isEnded = true
    this.#wake()
  }

  #wake(): void {
    const hasMore = this.#head < this.#waiting.length || this.#isEnded
    if (this.#isDue || !this.#isWanted || !hasMore) return
    this.#isDue = true
    setImmediate(() => this.#send())
  }

  #send(): void {
    this.#isDue = false
    if (this.body.destroyed) return
    try {
      let text = ''
      while (text.length < pieceChars && this.#head < this.#waiting.length) {
        const { value, done } = (this.#waiting[this.#head] as Iterator<string>).next()
        if (done) this.#waiting[this.#head++] = undefined
        else text += value
      }
      if (this.#head === this.#waiting.length) {
        this.#waiting = []
        this.#head = 0
      }
      this.#isWanted = false
      if (text !== '') this.body.push(text)
      if (this.#head === this.#waiting.length && this.#isEnded) this.body.push(null)
    } catch (error) {
      this.body.destroy(error as Error)
    }
  }
}

function take(pieces: Iterator<string>, chars: number): { text: string; isDone: boolean } {
  let text = ''
  while (text.length < chars) {
    const { value, done } = pieces.next()
    if (done) return { text, isDone: true }
    text += value
  }
  return { text, isDone: false }
}

/**
 * The JSON of a value in pieces: lists, and objects that contain lists, entry by entry; everything else as JSON.stringify
 * writes it. `writesNaN`: writes NaN as Python's json module does, instead of null.
 */
export function* jsonPieces(value: unknown, writesNaN = false): Generator<string> {
  if (Array.isArray(value)) {
    let before = '['
    for (let at = 0; at < value.length; ) {
      yield before
      before = ','
      const end = endOfNumbers(value, at)
      if (end - at > 1) yield JSON.stringify(value.slice(at, end)).slice(1, -1)
      else yield* jsonPieces(value[at], writesNaN)
      at = Math.max(end, at + 1)
    }
    yield before === '[' ? '[]' : ']'
  } else if (typeof value === 'string' && value.length > textChars) yield* textPieces(value)
  else if (!isPlain(value)) yield leafJson(value, writesNaN)
  else {
    // Listing the keys once is cheaper than Object.entries when there are thousands.
    const names = Object.keys(value)
    if (names.some((name) => holdsMany(value[name]))) yield* memberPieces(value, names, writesNaN)
    else yield leafJson(value, writesNaN)
  }
}

/** Small members are written together: a piece for each would cost more than writing it. */
function* memberPieces(
  value: Readonly<Record<string, unknown>>,
  names: readonly string[],
  writesNaN: boolean,
): Generator<string> {
  let text = ''
  let before = '{'
  for (const name of names) {
    const item = value[name]
    if (item === undefined) continue
    text += `${before}${JSON.stringify(name)}:`
    before = ','
    if (!holdsMany(item)) text += leafJson(item, writesNaN)
    else {
      yield text
      text = ''
      yield* jsonPieces(item, writesNaN)
    }
    if (text.length > textChars) {
      yield text
      text = ''
    }
  }
  yield before === '{' ? '{}' : `${text}}`
}

const leafJson = (value: unknown, writesNaN: boolean): string =>
  writesNaN && Number.isNaN(value) ? 'NaN' : (JSON.stringify(value) ?? 'null')

const isPlain = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !('toJSON' in value)

const holdsMany = (value: unknown): boolean =>
  Array.isArray(value) || isPlain(value) || (typeof value === 'string' && value.length > textChars)

/** The end of the run of finite numbers that starts at `from`, at most `numbersAtOnce` long. */
function endOfNumbers(values: readonly unknown[], from: number): number {
  const most = Math.min(values.length, from + numbersAtOnce)
  let end = from
  while (end < most && Number.isFinite(values[end])) end++
  return end
}

/** Never splits a surrogate pair: JSON.stringify would write each half as an escape. */
function* textPieces(text: string): Generator<string> {
  let before = '"'
  for (let at = 0; at < text.length; ) {
    const wished = Math.min(at + textChars, text.length)
    const last = text.charCodeAt(wished - 1)
    const end = wished < text.length && last >= 0xd800 && last <= 0xdbff ? wished - 1 : wished
    yield before + JSON.stringify(text.slice(at, end)).slice(1, -1)
    before = ''
    at = end
  }
  yield '"'
}

import type { Message } from '../../../core/sample/sample.ts'
import type { Rendered } from './ask.ts'

/** Longer texts are written in parts: allocating a string larger than a heap page costs more than writing it. */
const partLength = 8192

/** Bodies of up to this many characters are sent as one string. */
const textLength = 16_384

/** Joins parts of JSON into the body to send. */
export function bodyOf(parts: readonly string[]): string | Buffer {
  let length = 0
  for (const part of parts) length += part.length
  return length <= textLength ? parts.join('') : bytesOf(parts)
}

/** The JSON of a question, in parts. */
export function questionJson(input: Rendered): readonly string[] {
  const parts: string[] = []
  if (typeof input === 'string') quote(input, '"', '"', parts)
  else
    for (const [index, message] of input.entries())
      writeMessage(message, index === 0 ? '[' : ',', index === input.length - 1 ? ']' : '', parts)
  return parts.length > 0 ? parts : ['[]']
}

function writeMessage(message: Message, before: string, after: string, parts: string[]): void {
  parts.push(`${before}{"role":${JSON.stringify(message.role)},"content":"`)
  for (const piece of RenderedMessage.piecesOf(message))
    if (typeof piece === 'string') quote(piece, '', '', parts)
    else if (typeof piece.json === 'string') parts.push(piece.json)
    else for (const part of piece.json) parts.push(part)
  parts.push(`"}${after}`)
}

function quote(text: string, before: string, after: string, parts: string[]): void {
  if (before) parts.push(before)
  // A surrogate pair that is split here is written as two escapes.
  for (let at = 0; at < text.length; at += partLength) parts.push(inside(text.slice(at, at + partLength)))
  if (after) parts.push(after)
}

/** Parts written between two yields: a quarter of a million characters. */
const partsAtOnce = 32

/** A long text and its JSON, which is written in slices: in one go, that of 16 MiB blocks the event loop for 50 ms. */
export function* quoted(text: string): Generator<void, LongText> {
  const json: string[] = []
  for (let at = 0; at < text.length; at += partLength) {
    json.push(inside(text.slice(at, at + partLength)))
    if (json.length % partsAtOnce === 0) yield
  }
  return { text, json }
}

let known = new Map<string, KnownText>()
const mostKnown = 1024
/** Longer texts are not cached, in characters. */
const longestKnown = 8192

/** A few wide characters are escaped: one unescaped character doubles the bytes of everything that it is joined with. */
const wide = /[\u0100-\uffff]/g
const fewWide = 16

/** A text that many questions share, such as an author's literal. Caches its JSON unless it is very long. */
export function knownText(text: string): Piece {
  const found = known.get(text)
  if (found) return found
  if (text.length > longestKnown) return text
  const json = inside(text)
  const isNarrowed = (text.match(wide)?.length ?? 0) <= fewWide
  const made = { text, json: isNarrowed ? json.replace(wide, escaped) : json }
  if (known.size >= mostKnown) known = new Map()
  known.set(text, made)
  return made
}

/** Characters that JSON escapes, except for line ends. Includes surrogates, which may be unpaired. */
const escapes = /[^\n !#-[\]-\ud7ff\ue000-\uffff]/
const lineEnds = /\n/g
/** What JSON.stringify writes between the quotes. Scanning 2 KB that need no escape takes 3 µs, writing them takes 6. */
const inside = (text: string): string =>
  escapes.test(text) || hasManyLines(text) ? JSON.stringify(text).slice(1, -1) : text.replace(lineEnds, '\\n')

/** Above this many line ends JSON.stringify is faster: 16 MiB of short lines block 65 ms instead of 140 (`npm run test:adversarial`). */
const fewLineEnds = 128

function hasManyLines(text: string): boolean {
  let count = 0
  for (let at = text.indexOf('\n'); at >= 0 && count <= fewLineEnds; at = text.indexOf('\n', at + 1))
    count += 1
  return count > fewLineEnds
}

const escaped = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`

/** The parts as UTF-8. */
function bytesOf(parts: readonly string[]): Buffer {
  let length = 0
  for (const part of parts) length += Buffer.byteLength(part)
  const bytes = Buffer.allocUnsafeSlow(length)
  let end = 0
  for (const part of parts) end += bytes.write(part, end)
  return bytes
}

/** A text and its JSON, without the quotes. */
export interface KnownText {
  readonly text: string
  readonly json: string
}

/** A long text and its JSON in parts, without the quotes. */
export interface LongText {
  readonly text: string
  readonly json: readonly string[]
}

/** A part of a message's content. */
export type Piece = string | KnownText | LongText

/** A message that keeps the pieces of its content: joining them copies them and may double their bytes. */
export class RenderedMessage implements Message {
  readonly role: string
  readonly content: string
  // Private, so that JSON and comparisons only see role and content.
  readonly #pieces: readonly Piece[]

  constructor(role: string, pieces: readonly Piece[]) {
    this.role = role
    let content = ''
    for (const piece of pieces) content += typeof piece === 'string' ? piece : piece.text
    this.content = content
    this.#pieces = pieces
  }

  /** The pieces of a message's content, in order. */
  static piecesOf(message: Message): readonly Piece[] {
    return #pieces in message ? message.#pieces : [message.content]
  }
}

import type { ImageBytes } from '../../../core/sample/image.ts'
import type { Message } from '../../../core/sample/sample.ts'
import type { Rendered, RenderedInput } from './ask.ts'

/** Longer texts are written in parts: allocating a string larger than a heap page costs more than writing it. */
const partLength = 8192

/** Bodies of up to this many characters are sent as one string. */
const textLength = 16_384

/** A request's body. */
export type Body = string | Buffer | ImageBody

/**
 * A body with images. They are copied into it when it is sent: until then all questions about an image share its bytes.
 */
export class ImageBody {
  /** Bytes besides those of the images. */
  readonly ownLength: number
  /** Rough tokens of the images. */
  readonly tokens: number
  readonly #parts: readonly string[]

  constructor(parts: readonly string[], images: readonly RenderedImage[]) {
    let length = 0
    for (const part of parts) length += Buffer.byteLength(part)
    for (const { bytes } of images) length -= bytes?.base64.length ?? 0
    this.ownLength = length
    this.tokens = images.reduce((sum, { tokens }) => sum + tokens, 0)
    this.#parts = parts
  }

  toBytes(): Buffer {
    return bytesOf(this.#parts)
  }
}

/** Joins parts of JSON into the body to send. `images`: those of its questions. */
export function bodyOf(parts: readonly string[], images: readonly RenderedImage[] = noImages): Body {
  if (images.length > 0) return new ImageBody(parts, images)
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

/** The JSON of a message's text, in parts. Images are left out. */
export function contentJson(message: Message): readonly string[] {
  const parts = ['"']
  for (const piece of RenderedMessage.piecesOf(message)) if (!isImage(piece)) writePiece(piece, parts)
  parts.push('"')
  return parts
}

/** The JSON of the address of an image: a data URL if its bytes are sent. In parts, of which the bytes are one. */
export const imageAddressJson = ({ bytes, mediaType, url }: RenderedImage): readonly string[] =>
  bytes ? [`"data:${mediaType};base64,`, bytes.base64, '"'] : [JSON.stringify(url)]

function writeMessage(message: Message, before: string, after: string, parts: string[]): void {
  const start = `${before}{"role":${JSON.stringify(message.role)},"content":`
  if (RenderedMessage.imagesOf(message).length > 0) {
    parts.push(`${start}[`)
    writeParts(RenderedMessage.piecesOf(message), parts)
    parts.push(`]}${after}`)
    return
  }
  parts.push(`${start}"`)
  for (const piece of RenderedMessage.piecesOf(message)) writePiece(piece as TextPiece, parts)
  parts.push(`"}${after}`)
}

function writePiece(piece: TextPiece, parts: string[]): void {
  if (typeof piece === 'string') quote(piece, '', '', parts)
  else if (typeof piece.json === 'string') parts.push(piece.json)
  else for (const part of piece.json) parts.push(part)
}

/** Content with images: a part for each, and one for the texts between two of them. */
function writeParts(pieces: readonly Piece[], parts: string[]): void {
  let before = ''
  let isOpen = false
  for (const piece of pieces) {
    if (isImage(piece)) {
      if (isOpen) parts.push('"}')
      isOpen = false
      writeImage(piece.image, before, parts)
    } else if ((typeof piece === 'string' ? piece : piece.text) === '') continue
    else {
      if (!isOpen) parts.push(`${before}{"type":"text","text":"`)
      isOpen = true
      writePiece(piece, parts)
    }
    before = ','
  }
  if (isOpen) parts.push('"}')
}

function writeImage({ bytes, mediaType, url, detail }: RenderedImage, before: string, parts: string[]): void {
  parts.push(`${before}{"type":"image_url","image_url":{"url":"`)
  // Letters of base64 need no escape.
  if (bytes) parts.push(`data:${mediaType};base64,`, bytes.base64)
  else parts.push(JSON.stringify(url).slice(1, -1))
  parts.push(detail === undefined ? '"}}' : `","detail":"${detail}"}}`)
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
const asciiEscapes = Array.from({ length: 128 }, (_, code) => String.fromCharCode(code)).filter((one) =>
  escapes.test(one),
)
/** In shorter texts a pattern is as fast as a search for each character. */
const fewChars = 512

function needsEscapes(text: string): boolean {
  const isAscii = text.length >= fewChars && Buffer.byteLength(text) === text.length
  return isAscii ? asciiEscapes.some((one) => text.includes(one)) : escapes.test(text)
}

const lineEnds = /\n/g
/** What JSON.stringify writes between the quotes. Replacing the line ends of 2 KB takes 1 µs, JSON.stringify 2.5. */
const inside = (text: string): string =>
  needsEscapes(text) || hasManyLines(text) ? JSON.stringify(text).slice(1, -1) : text.replace(lineEnds, '\\n')

/**
 * Above this many line ends JSON.stringify is faster: 16 MiB of short lines block 65 ms instead of 140 (`npm run test:adversarial`).
 * In shorter texts, counting them would cost more than they do.
 */
const fewLineEnds = 128
const uncountedChars = 4096

function hasManyLines(text: string): boolean {
  if (text.length <= uncountedChars) return false
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

type TextPiece = string | KnownText | LongText

/** An image in a message's content. */
export interface ImagePiece {
  readonly text: ''
  readonly image: RenderedImage
}

/** A part of a message's content. */
export type Piece = TextPiece | ImagePiece

export const isImage = (piece: Piece): piece is ImagePiece => typeof piece === 'object' && 'image' in piece

/** What is known of an image that a question shows. */
export interface ImageHandle {
  readonly sha256: string
  readonly size: number
  readonly mediaType?: string
  /** The address that the server fetches. */
  readonly url?: string
}

/** An image as it is sent. */
export interface RenderedImage extends ImageHandle {
  /** Absent: `url` is sent. */
  readonly bytes?: ImageBytes
  readonly detail?: 'auto' | 'low' | 'high'
  /** A rough count. */
  readonly tokens: number
}

const noImages: readonly RenderedImage[] = Object.freeze([])

const handleOf = ({ sha256, size, mediaType, url }: RenderedImage): ImageHandle => ({
  sha256,
  size,
  ...(mediaType !== undefined && { mediaType }),
  ...(url !== undefined && { url }),
})

/** The images of a rendered question, in order. Most have none. */
export function imagesOfInput(input: RenderedInput[keyof RenderedInput]): readonly RenderedImage[] {
  if (typeof input === 'string' || 'json' in input) return noImages
  if ('about' in input) return imagesOfInput(input.about)
  if ('question' in input) return imagesOfInput(input.question)
  let found = noImages
  for (const message of input) {
    if (typeof message === 'string') return noImages
    const own = RenderedMessage.imagesOf(message)
    if (own.length > 0) found = [...found, ...own]
  }
  return found
}

/** The question with handles in place of its images, for what keeps it longer than the bytes are kept. */
export function withoutImageBytes<I extends RenderedInput[keyof RenderedInput]>(input: I): I {
  if (imagesOfInput(input).length === 0) return input
  if (typeof input === 'object' && 'about' in input)
    return { ...input, about: withoutImageBytes(input.about) }
  if (typeof input === 'object' && 'question' in input)
    return { ...input, question: withoutImageBytes(input.question) }
  return (input as readonly Message[]).map((message) => ({ ...message })) as unknown as I
}

/** A message that keeps the pieces of its content: joining them copies them and may double their bytes. */
export class RenderedMessage implements Message {
  readonly role: string
  /** The text, without the images. */
  readonly content: string
  /** Only there if there are any. */
  declare readonly images?: readonly ImageHandle[]
  // Private, so that JSON and comparisons only see role, content and handles.
  readonly #pieces: readonly Piece[]

  /** `hasImages`: looking for them would cost every question something. */
  constructor(role: string, pieces: readonly Piece[], hasImages = false) {
    this.role = role
    let content = ''
    for (const piece of pieces) content += typeof piece === 'string' ? piece : piece.text
    this.content = content
    this.#pieces = pieces
    if (hasImages) this.images = pieces.filter(isImage).map(({ image }) => handleOf(image))
  }

  /** The images of a message's content, in order. */
  static imagesOf(message: Message): readonly RenderedImage[] {
    if (!(#pieces in message) || message.images === undefined) return noImages
    return message.#pieces.filter(isImage).map(({ image }) => image)
  }

  /** The pieces of a message's content, in order. */
  static piecesOf(message: Message): readonly Piece[] {
    return #pieces in message ? message.#pieces : [message.content]
  }
}

/** The bytes of images: what their headers say, and how long a sample keeps them. */
import { type ImagePart, isTextOnly, type Message, type Sample } from './sample.ts'

/** The types that judges' servers read. */
export const imageTypes = ['image/png', 'image/jpeg', 'image/webp', 'image/gif'] as const

export type ImageType = (typeof imageTypes)[number]

/** What the first bytes of an image say. */
export interface ImageHeader {
  readonly type: ImageType
  /** In pixels. 0 if the header does not say or breaks off. */
  readonly width: number
  readonly height: number
}

/** The bytes of an image, as they are sent on. Equal images of a request share one. */
export interface ImageBytes {
  readonly base64: string
  /** Decoded. */
  readonly size: number
  /** null: the bytes begin like none of the known types. */
  readonly header: ImageHeader | null
}

/**
 * Bytes by part. A part itself only has hash, size and type, so that nothing that copies, compares, hashes or sends a
 * sample meets the bytes: executors of functions, records and keys get handles.
 */
const bytesByPart = new WeakMap<ImagePart, ImageBytes>()

export const keepImage = (part: ImagePart, bytes: ImageBytes): void => void bytesByPart.set(part, bytes)

/** undefined if no bytes were sent, or if they were released. */
export const bytesOfImage = (part: ImagePart): ImageBytes | undefined => bytesByPart.get(part)

/** Frees the bytes of a sample that is done. What still shows the sample keeps its handles. */
export function releaseImages(sample: Pick<Sample, 'prompt' | 'turns'>): void {
  for (const { part } of imagesOf(sample)) bytesByPart.delete(part)
}

/** An image of a sample and the message that it is part of. */
export interface PlacedImage {
  readonly part: ImagePart
  readonly message: Message
  /** `prompt.0`, `response.2`. */
  readonly place: string
}

const none: readonly PlacedImage[] = Object.freeze([])

/** All images of a sample, in order. */
export function imagesOf(sample: Pick<Sample, 'prompt' | 'turns'>): readonly PlacedImage[] {
  if (isTextOnly(sample)) return none
  const { prompt, turns } = sample
  const found: PlacedImage[] = []
  if (typeof prompt === 'object') addImages(found, prompt, 'prompt')
  if (turns) addImages(found, turns, 'response')
  return found
}

function addImages(found: PlacedImage[], messages: readonly Message[], name: string): void {
  for (let at = 0; at < messages.length; at++) {
    const message = messages[at] as Message
    if (!message.parts) continue
    for (const part of message.parts)
      if (part.type === 'image') found.push({ part, message, place: `${name}.${at}` })
  }
}

/** Whether a message has an image. */
export const holdsImage = ({ parts }: Message): boolean =>
  parts?.some(({ type }) => type === 'image') ?? false

/** Reads type and size from the first bytes. Looks at a bounded number of them, whatever they say. */
export function imageHeader(bytes: Buffer): ImageHeader | null {
  if (startsWith(bytes, '\x89PNG\r\n\x1a\n')) return headerOf('image/png', pngSize(bytes))
  if (startsWith(bytes, '\xff\xd8\xff')) return headerOf('image/jpeg', jpegSize(bytes))
  if (startsWith(bytes, 'GIF87a') || startsWith(bytes, 'GIF89a'))
    return headerOf('image/gif', bytes.length < 10 ? null : [bytes.readUInt16LE(6), bytes.readUInt16LE(8)])
  if (startsWith(bytes, 'RIFF') && startsWith(bytes, 'WEBP', 8))
    return headerOf('image/webp', webpSize(bytes))
  return null
}

type Size = readonly [width: number, height: number]

const headerOf = (type: ImageType, size: Size | null): ImageHeader => ({
  type,
  width: size?.[0] ?? 0,
  height: size?.[1] ?? 0,
})

function startsWith(bytes: Buffer, text: string, at = 0): boolean {
  for (let i = 0; i < text.length; i++) if (bytes[at + i] !== text.charCodeAt(i)) return false
  return true
}

const pngSize = (bytes: Buffer): Size | null =>
  bytes.length < 24 || !startsWith(bytes, 'IHDR', 12)
    ? null
    : [bytes.readUInt32BE(16), bytes.readUInt32BE(20)]

/** A JPEG may have thumbnails and colour profiles before its size. One with more segments is not read to its end. */
const mostSegments = 512

function jpegSize(bytes: Buffer): Size | null {
  let at = 2
  for (let segment = 0; segment < mostSegments && at + 9 <= bytes.length; segment++) {
    if (bytes[at] !== 0xff) return null
    const marker = bytes[at + 1] as number
    if (marker === 0xff) {
      at += 1
      continue
    }
    // Start of frame, but not the tables and extensions that have numbers in the same range.
    if (marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc)
      return [bytes.readUInt16BE(at + 7), bytes.readUInt16BE(at + 5)]
    const length = bytes.readUInt16BE(at + 2)
    if (marker === 0xda || marker === 0xd9 || length < 2) return null
    at += 2 + length
  }
  return null
}

function webpSize(bytes: Buffer): Size | null {
  if (bytes.length < 30) return null
  const kind = bytes.toString('latin1', 12, 16)
  if (kind === 'VP8X') return [1 + bytes.readUIntLE(24, 3), 1 + bytes.readUIntLE(27, 3)]
  if (kind === 'VP8 ') return [bytes.readUInt16LE(26) & 0x3fff, bytes.readUInt16LE(28) & 0x3fff]
  if (kind !== 'VP8L' || bytes[20] !== 0x2f) return null
  const bits = bytes.readUInt32LE(21)
  return [1 + (bits & 0x3fff), 1 + ((bits >>> 14) & 0x3fff)]
}

/** Qwen's models take a token for 28 by 28 pixels, and scale larger images down. */
const pixelsOfToken = 784
const leastTokens = 64
const mostTokens = 16_384

/** A rough count of the tokens that an image adds to a prompt. */
export function tokensOfImage(part: ImagePart): number {
  const header = bytesOfImage(part)?.header
  const tokens = header ? Math.ceil((header.width * header.height) / pixelsOfToken) : 1024
  return Math.min(Math.max(tokens, leastTokens), mostTokens)
}

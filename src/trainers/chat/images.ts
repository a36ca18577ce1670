/** Images of messages: the bytes of data URLs, and the images that a request holds once for all of its rows. */
import { createHash, hash } from 'node:crypto'
import {
  bytesOfImage,
  type ImageBytes,
  type ImageHeader,
  imageHeader,
  imagesOf,
  keepImage,
} from '../../core/sample/image.ts'
import type { ImagePart, Sample } from '../../core/sample/sample.ts'

/** Where parts of different trainers keep their image, bytes first. */
export const imageSources = [
  'bytes',
  'base64',
  'data',
  'image_url',
  'sha256',
  'url',
  'image',
  'source',
  'path',
  'file_id',
] as const

type ImageContent = Omit<ImagePart, 'type' | 'detail'> & { readonly bytes?: ImageBytes }

const dataUrl = /^data:([a-z]+\/[\w.+-]{1,64})?(?:;[\w=.+-]{0,64}){0,8},/i
const longestHead = 1024
const usualHead = /^data:(image\/[a-z]+);base64,/
const bytesNames: readonly string[] = ['bytes', 'base64', 'data']
/** Shorter texts of other fields are paths. */
const shortestBase64 = 256

const hex = /^[0-9a-f]{64}$/i
/** How a part refers to an image of its request. */
const reference = /^sha256:([0-9a-f]{64})$/i

/** What a part's text says: bytes, an image of the request, an address or a path. `name`: the field that it stands in. */
export function imageFrom(source: string, name = 'url'): ImageContent {
  if (name === 'sha256' && hex.test(source)) return { sha256: source.toLowerCase(), size: 0 }
  const referred = source.length > 80 ? null : reference.exec(source)
  if (referred) return { sha256: (referred[1] as string).toLowerCase(), size: 0 }
  const head = usualHead.exec(source.slice(0, 64)) ?? dataUrl.exec(source.slice(0, longestHead))
  const [all = '', mediaType] = head ?? []
  const body = head ? source.slice(all.length) : source
  const isData = head ? /;base64,$/i.test(all) : source.length >= shortestBase64 || bytesNames.includes(name)
  const found = isData ? decoded(body) : null
  if (found) return { ...found, size: found.bytes.size, ...(mediaType !== undefined && { mediaType }) }
  if (!head) return { sha256: sha256(source), size: 0, url: source }
  const size = Buffer.byteLength(body)
  return { sha256: sha256(source), size, ...(mediaType !== undefined && { mediaType }) }
}

/** No source, as where a data set keeps its images in another column, or one of a form that is not known. */
export const unknownImage = (source: unknown): ImageContent => ({
  sha256: sha256(source === undefined ? '' : JSON.stringify(source)),
  size: 0,
})

/** Base64 letters that are decoded at once: a multiple of four, and little memory for an image of any size. */
const pieceLength = 1_048_576

const pieceBytes = Buffer.allocUnsafeSlow((pieceLength / 4) * 3)

/** The bytes of a base64 text; null if it is none. Node skips other characters, so that broken texts would be one image. */
function decoded(given: string): { readonly sha256: string; readonly bytes: ImageBytes } | null {
  // Python's base64.encodebytes ends a line after 76 letters.
  const text = given.includes('\n') ? given.replace(/\s+/g, '') : given
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0
  const letters = text.length - padding
  // Without padding, or with the letters of URLs, some servers would read other bytes than these.
  const isUsual = text.length % 4 === 0 && !text.includes('-') && !text.includes('_')
  const whole = letters > pieceLength ? createHash('sha256') : null
  let digest = ''
  let header: ImageHeader | null = null
  let usual = ''
  let size = 0
  for (let at = 0; at < letters; at += pieceLength) {
    const length = pieceBytes.write(text.slice(at, at + pieceLength), 'base64')
    if (length !== Math.floor((Math.min(letters - at, pieceLength) * 3) / 4)) return null
    const bytes = pieceBytes.subarray(0, length)
    if (whole) whole.update(bytes)
    else digest = hash('sha256', bytes)
    if (at === 0) header = imageHeader(bytes)
    if (!isUsual) usual += bytes.toString('base64')
    size += length
  }
  if (size === 0) return null
  return { sha256: whole?.digest('hex') ?? digest, bytes: { base64: isUsual ? text : usual, size, header } }
}

const sha256 = (content: string): string => hash('sha256', content)

/** `images` of a request: data URLs by the SHA-256 of their bytes. Each is decoded when a row first refers to it. */
export class RequestImages {
  readonly #sent: Readonly<Record<string, unknown>>
  readonly #known = new Map<string, ImageBytes | string>()

  constructor(sent: Readonly<Record<string, unknown>>) {
    this.#sent = sent
  }

  /** Gives the parts of a sample the bytes that they refer to. Returns what is wrong with one of them, or null. */
  giveTo(sample: Sample): string | null {
    for (const { part, place } of imagesOf(sample)) {
      const { sha256, size, url } = part
      const known = bytesOfImage(part)
      if (known) {
        // Rows that send equal bytes share them.
        const shared = this.#known.get(sha256)
        if (typeof shared === 'object') keepImage(part, shared)
        else this.#known.set(sha256, known)
        continue
      }
      if (url !== undefined || !(Object.hasOwn(this.#sent, sha256) || this.#known.has(sha256))) continue
      const found = this.#known.get(sha256) ?? this.#read(sha256)
      if (typeof found === 'string') return `${place}: ${found}`
      if (size !== found.size) Object.assign(part, { size: found.size })
      if (found.header) Object.assign(part, { mediaType: found.header.type })
      keepImage(part, found)
    }
    return null
  }

  #read(key: string): ImageBytes | string {
    const sent = this.#sent[key]
    const { sha256, bytes } = typeof sent === 'string' ? imageFrom(sent, 'data') : unknownImage(sent)
    const short = `images.${key.slice(0, 12)}`
    const found = !bytes
      ? `${short} is no data URL and no base64`
      : sha256 === key
        ? bytes
        : `${short} has other bytes: their SHA-256 is not its name`
    this.#known.set(key, found)
    return found
  }
}

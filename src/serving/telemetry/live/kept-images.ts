/** The images of the rows that the page shows, within bounds. The engine releases all others with their request. */
import { bytesOfImage, type ImageBytes, type ImageType, imagesOf } from '../../../core/sample/image.ts'
import { isTextOnly, type Sample, type Unreadable } from '../../../core/sample/sample.ts'

/** What a larger image needs to be decoded in the browser, or to be kept here, is more than a thumbnail is worth. */
const maxImageBytes = 2 * 1024 * 1024
const maxImagePixels = 2 ** 24
const maxImagesPerRow = 16
/** Letters of base64 of all kept images. The oldest go first. */
const maxKept = 16 * 1024 * 1024

/** An image that can be shown. */
interface ShownImage {
  readonly type: ImageType
  readonly base64: string
}

type ImagesOfRow = ReadonlyMap<string, ShownImage>

const none: ReadonlyMap<Sample | Unreadable, ImagesOfRow> = new Map()

/** The images of each row that fit, by the SHA-256 of their bytes. Called while the engine still has the bytes. */
export function imagesToShow(
  rows: readonly (Sample | Unreadable)[],
): ReadonlyMap<Sample | Unreadable, ImagesOfRow> {
  let found: Map<Sample | Unreadable, ImagesOfRow> | null = null
  for (const row of rows) {
    if ('failure' in row || isTextOnly(row)) continue
    const images = new Map<string, ShownImage>()
    for (const { part } of imagesOf(row)) {
      if (images.size === maxImagesPerRow) break
      const bytes = bytesOfImage(part)
      if (bytes?.header && fits(bytes.size, bytes.header))
        images.set(part.sha256, { type: bytes.header.type, base64: bytes.base64 })
    }
    if (images.size === 0) continue
    found ??= new Map()
    found.set(row, images)
  }
  return found ?? none
}

function fits(size: number, { width, height }: NonNullable<ImageBytes['header']>): boolean {
  const pixels = width * height
  return size <= maxImageBytes && pixels > 0 && pixels <= maxImagePixels
}

/** Rows may share an image; it goes with the last of them. */
export class KeptImages {
  readonly #images = new Map<string, { readonly image: ShownImage; readonly rows: Set<object> }>()
  readonly #ofRow = new Map<object, readonly string[]>()
  #size = 0

  keep(row: object, images: ImagesOfRow): void {
    this.forget(row)
    this.#ofRow.set(row, [...images.keys()])
    for (const [sha256, image] of images) {
      const known = this.#images.get(sha256)
      // Whatever was added last is the last to go.
      this.#images.delete(sha256)
      this.#images.set(sha256, known ?? { image, rows: new Set() })
      this.#images.get(sha256)?.rows.add(row)
      if (!known) this.#size += image.base64.length
    }
    for (const sha256 of this.#images.keys()) {
      if (this.#size <= maxKept) break
      this.#drop(sha256)
    }
  }

  forget(row: object): void {
    const own = this.#ofRow.get(row)
    if (!own) return
    for (const sha256 of own) {
      const rows = this.#images.get(sha256)?.rows
      rows?.delete(row)
      if (rows?.size === 0) this.#drop(sha256)
    }
    this.#ofRow.delete(row)
  }

  /** The hashes of those images of a row that are still kept. */
  of(row: object): readonly string[] {
    return (this.#ofRow.get(row) ?? []).filter((sha256) => this.#images.has(sha256))
  }

  /** null if it is not, or no longer, kept. */
  get(sha256: string): ShownImage | null {
    return this.#images.get(sha256)?.image ?? null
  }

  #drop(sha256: string): void {
    this.#size -= this.#images.get(sha256)?.image.base64.length ?? 0
    this.#images.delete(sha256)
  }
}

/** A question of 16 Mi characters is 48 MiB at most. */
const longest = 64 * 1024 * 1024
/** What an honest message holds besides its texts at most; V8 takes some 100 ns to read one value. */
const mostValues = 400_000
const uncounted = 512 * 1024

/** A text as bytes with its length before it: four bytes, big end first. */
export function frame(text: string): Buffer {
  const length = Buffer.byteLength(text)
  const bytes = Buffer.allocUnsafe(4 + length)
  bytes.writeUInt32BE(length)
  bytes.write(text, 4)
  return bytes
}

/** Puts frames together that arrive in pieces. */
export class FrameReader {
  readonly #onText: (text: string) => void
  readonly #isTrusted: boolean
  #pieces: Buffer[] = []
  #held = 0

  /** `isTrusted`: the other side is the gateway, whose frames are as long as its chunks. */
  constructor(onText: (text: string) => void, isTrusted = false) {
    this.#onText = onText
    this.#isTrusted = isTrusted
  }

  /** False where the other side does not keep to the form. */
  read(bytes: Buffer): boolean {
    this.#pieces.push(bytes)
    this.#held += bytes.length
    for (;;) {
      if (this.#held < 4) return true
      if ((this.#pieces[0] as Buffer).length < 4) this.#pieces = [Buffer.concat(this.#pieces)]
      const length = (this.#pieces[0] as Buffer).readUInt32BE(0)
      if (length > longest && !this.#isTrusted) return false
      if (this.#held < 4 + length) return true
      const all = this.#pieces.length === 1 ? (this.#pieces[0] as Buffer) : Buffer.concat(this.#pieces)
      const text = all.subarray(4, 4 + length)
      const rest = all.subarray(4 + length)
      this.#pieces = rest.length > 0 ? [rest] : []
      this.#held = rest.length
      if (length > uncounted && !this.#isTrusted && hasMoreValues(text, mostValues)) return false
      this.#onText(text.toString('utf8'))
    }
  }
}

const [quote, backslash, comma, bracket, brace, colon] = [34, 92, 44, 91, 123, 58]

/** Whether a JSON text has more than `most` values; its strings are passed over at the speed of memory. */
export function hasMoreValues(text: Buffer, most: number): boolean {
  let left = most
  for (let at = 0; at < text.length; at++) {
    const byte = text[at]
    if (byte === quote) at = endOfString(text, at)
    else if (byte === comma || byte === bracket || byte === brace || byte === colon) {
      if (--left < 0) return true
    }
  }
  return false
}

function endOfString(text: Buffer, start: number): number {
  for (let at = start + 1; ; at++) {
    at = text.indexOf(quote, at)
    if (at < 0) return text.length
    let slashes = 0
    while (text[at - 1 - slashes] === backslash) slashes++
    if (slashes % 2 === 0) return at
  }
}

/** A message that an executor of authors' code did not write as it should. The text never quotes it. */
export class BrokenMessage extends Error {}

/** The value as an object with unknown entries; throws BrokenMessage. */
export function objectOf(value: unknown, otherwise: string): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new BrokenMessage(otherwise)
  return value as Readonly<Record<string, unknown>>
}

/** The value as a list of unknown items; throws BrokenMessage. */
export function listOf(value: unknown, otherwise: string): readonly unknown[] {
  if (!Array.isArray(value)) throw new BrokenMessage(otherwise)
  return value
}

/** The value as a text of at most `longest` characters, cut there; throws BrokenMessage. */
export function textOf(value: unknown, longest: number, otherwise: string): string {
  if (typeof value !== 'string') throw new BrokenMessage(otherwise)
  return value.length > longest ? value.slice(0, longest) : value
}

/** True for a duration that can be counted. */
export const isMilliseconds = (value: unknown): value is number =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0

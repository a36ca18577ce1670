/** Maximum bytes of a frame: a question of 16 Mi characters is at most 48 MiB. */
const longest = 64 * 1024 * 1024
/** Maximum values of a message. V8 takes about 100 ns to parse one, and honest messages hold far fewer. */
const mostValues = 400_000
const uncounted = 512 * 1024

/** Encodes a text with a length prefix: four bytes, big-endian. */
export function frame(text: string): Buffer {
  const length = Buffer.byteLength(text)
  const bytes = Buffer.allocUnsafe(4 + length)
  bytes.writeUInt32BE(length)
  bytes.write(text, 4)
  return bytes
}

/** Reads frames from a byte stream. */
export class FrameReader {
  readonly #onText: (text: string) => void
  readonly #isTrusted: boolean
  #pieces: Buffer[] = []
  #held = 0

  /** `isTrusted`: the sender is the gateway, whose frames have no limit. */
  constructor(onText: (text: string) => void, isTrusted = false) {
    this.#onText = onText
    this.#isTrusted = isTrusted
  }

  /** Returns false if the sender breaks the format or a limit. */
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

/** Whether a JSON text has more than `most` values. Uses `indexOf` to skip strings fast. */
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

/** An executor of authors' code sent a malformed message. The error never quotes it. */
export class MalformedMessage extends Error {}

/** The value as an object; throws MalformedMessage with the text `otherwise`. */
export function objectOf(value: unknown, otherwise: string): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new MalformedMessage(otherwise)
  return value as Readonly<Record<string, unknown>>
}

/** The value as a list; throws MalformedMessage. */
export function listOf(value: unknown, otherwise: string): readonly unknown[] {
  if (!Array.isArray(value)) throw new MalformedMessage(otherwise)
  return value
}

/** The value as a string, truncated to `longest` characters; throws MalformedMessage. */
export function textOf(value: unknown, longest: number, otherwise: string): string {
  if (typeof value !== 'string') throw new MalformedMessage(otherwise)
  return value.length > longest ? value.slice(0, longest) : value
}

/** True for a finite duration of at least 0. */
export const isMilliseconds = (value: unknown): value is number =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0

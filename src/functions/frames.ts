const longest = 256 * 1024 * 1024

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
  #pieces: Buffer[] = []
  #held = 0

  constructor(onText: (text: string) => void) {
    this.#onText = onText
  }

  /** False where the other side does not keep to the form. */
  read(bytes: Buffer): boolean {
    this.#pieces.push(bytes)
    this.#held += bytes.length
    for (;;) {
      if (this.#held < 4) return true
      if ((this.#pieces[0] as Buffer).length < 4) this.#pieces = [Buffer.concat(this.#pieces)]
      const length = (this.#pieces[0] as Buffer).readUInt32BE(0)
      if (length > longest) return false
      if (this.#held < 4 + length) return true
      const all = this.#pieces.length === 1 ? (this.#pieces[0] as Buffer) : Buffer.concat(this.#pieces)
      const rest = all.subarray(4 + length)
      this.#pieces = rest.length > 0 ? [rest] : []
      this.#held = rest.length
      this.#onText(all.toString('utf8', 4, 4 + length))
    }
  }
}

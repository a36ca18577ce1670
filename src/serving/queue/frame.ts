/**
 * Records on disk. A frame is 20 bytes, a head (JSON) and a body (bytes of any kind):
 *
 *     offset  0  magic: NUL R G Q
 *             4  bytes of the head, unsigned, little-endian as all numbers
 *             8  bytes of the body
 *            12  CRC-32 of the body
 *            16  CRC-32 of bytes 4 to 15 and of the head
 *
 * The head has its own checksum, so that a record whose body is damaged still says whose it is. No JSON text holds a NUL byte:
 * a body that a client wrote can never look like a frame when a reader searches for the next one behind damage.
 */
import { crc32 } from 'node:zlib'

const magic = Buffer.from([0, 0x52, 0x47, 0x51])
const fixedBytes = 20

/** A longer head or body is never written, so a larger length is damage. */
const mostHeadBytes = 1024 * 1024
const mostBodyBytes = 1024 * 1024 * 1024

/** The bytes of a record, in two pieces so that the body is not copied. */
export function encodeFrame(head: object, body: Uint8Array): readonly [Buffer, Uint8Array] {
  const text = Buffer.from(JSON.stringify(head))
  const start = Buffer.allocUnsafe(fixedBytes + text.length)
  magic.copy(start)
  start.writeUInt32LE(text.length, 4)
  start.writeUInt32LE(body.length, 8)
  start.writeUInt32LE(crc32(body), 12)
  start.writeUInt32LE(crc32(text, crc32(start.subarray(4, 16))), 16)
  text.copy(start, fixedBytes)
  return [start, body]
}

/** A record with an intact head. */
export interface Frame {
  readonly head: Readonly<Record<string, unknown>>
  /** null: damaged. */
  readonly body: Buffer | null
  /** Offset in the segment, and length with the fixed bytes. */
  readonly at: number
  readonly length: number
}

/** Bytes of a segment that hold no intact record. */
export interface Damage {
  readonly at: number
  readonly length: number
}

/** The frame that begins at `at`; null if none does. */
export function readFrame(bytes: Buffer, at: number): Frame | null {
  if (at + fixedBytes > bytes.length || bytes.compare(magic, 0, 4, at, at + 4) !== 0) return null
  const headBytes = bytes.readUInt32LE(at + 4)
  const bodyBytes = bytes.readUInt32LE(at + 8)
  const bodyAt = at + fixedBytes + headBytes
  const end = bodyAt + bodyBytes
  if (headBytes > mostHeadBytes || bodyBytes > mostBodyBytes || end > bytes.length) return null
  const text = bytes.subarray(at + fixedBytes, bodyAt)
  if (crc32(text, crc32(bytes.subarray(at + 4, at + 16))) !== bytes.readUInt32LE(at + 16)) return null
  const body = bytes.subarray(bodyAt, end)
  const head = JSON.parse(text.toString('utf8'))
  return { head, body: crc32(body) === bytes.readUInt32LE(at + 12) ? body : null, at, length: end - at }
}

/** What a segment holds, in order. */
export interface Scanned {
  readonly frames: readonly Frame[]
  /** Bytes between intact records. */
  readonly damage: readonly Damage[]
  /** Where the last intact record ends; bytes behind it are a write that was cut off. */
  readonly end: number
}

/** Reads all records of a segment. Behind damage it goes on with the next intact record. Linear time. */
export function scanFrames(bytes: Buffer): Scanned {
  const frames: Frame[] = []
  const damage: Damage[] = []
  let at = 0
  let end = 0
  while (at < bytes.length) {
    const frame = readFrame(bytes, at)
    if (frame === null) {
      const next = bytes.indexOf(magic, at + 1)
      if (next < 0) break
      at = next
      continue
    }
    if (at > end) damage.push({ at: end, length: at - end })
    frames.push(frame)
    at += frame.length
    end = at
  }
  return { frames, damage, end }
}

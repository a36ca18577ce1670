import { createHash } from 'node:crypto'
import { crc32, deflateSync } from 'node:zlib'

/** A PNG of this size, which decoders read. `salt` changes its bytes. */
export function png(width: number, height: number, salt = 0): Buffer {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  // 8 bits of red, green and blue.
  header.set([8, 2], 8)
  const rows = Buffer.alloc(height * (1 + 3 * width), salt)
  for (let row = 0; row < height; row++) rows[row * (1 + 3 * width)] = 0
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(rows)),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const framed = Buffer.alloc(body.length + 8)
  framed.writeUInt32BE(data.length, 0)
  body.copy(framed, 4)
  framed.writeUInt32BE(crc32(body), body.length + 4)
  return framed
}

/** Bytes that begin like a PNG of this size and are `bytes` long. */
export function paddedPng(width: number, height: number, bytes: number, salt = 0): Buffer {
  const padded = Buffer.alloc(bytes, salt)
  png(1, 1).copy(padded)
  padded.writeUInt32BE(width, 16)
  padded.writeUInt32BE(height, 20)
  padded.writeUInt32BE(salt, bytes - 4)
  return padded
}

export const dataUrl = (bytes: Buffer, type = 'image/png'): string =>
  `data:${type};base64,${bytes.toString('base64')}`

export const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')

/** A part of a message, as OpenAI's API has it. */
export const imagePart = (url: string, more: object = {}): object => ({
  type: 'image_url',
  image_url: { url, ...more },
})

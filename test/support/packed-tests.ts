import { deflateSync } from 'node:zlib'

/** NeMo Gym's packing: base64 of zlib. */
export const packed = (content: string | Buffer): string =>
  deflateSync(Buffer.from(content)).toString('base64')

/** LiveCodeBench's packing: a pickled text, base64 of zlib. `head` and `tail` stand around the text's opcode. */
export function packedPickle(text: string, head: readonly number[] = [], tail = [0x94, 0x2e]): string {
  const body = Buffer.from(text)
  const size = Buffer.alloc(4)
  size.writeUInt32LE(body.length)
  const frame = Buffer.alloc(9)
  frame[0] = 0x95
  frame.writeBigUInt64LE(BigInt(body.length + 7), 1)
  return packed(
    Buffer.concat([
      Buffer.from([0x80, 4]),
      frame,
      Buffer.from([...head, 0x58]),
      size,
      body,
      Buffer.from(tail),
    ]),
  )
}

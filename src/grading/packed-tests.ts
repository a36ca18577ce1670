/**
 * Reads the private tests of LiveCodeBench: base64 of zlib of a pickled JSON text, and NeMo Gym's base64 of zlib of a JSON
 * text. Nothing is unpickled: the reader knows only the opcodes that store one text.
 */

import { inflateSync } from 'node:zlib'

/** Bytes that a packed text may have when it is unpacked. */
export const mostUnpackedBytes = 64 * 1024 * 1024

/** Whether a text looks like base64 of zlib. */
export const isPacked = (text: string): boolean => /^e[A-P][\w+/-]{2}/.test(text)

/** The text that was packed, or what is wrong. Time and memory are bounded by the limit. */
export function unpacked(
  packed: string,
  limit = mostUnpackedBytes,
): { readonly text: string } | { readonly problem: string } {
  if (packed.length > limit) return { problem: 'it is too long' }
  let bytes: Buffer
  try {
    bytes = inflateSync(Buffer.from(packed, 'base64'), { maxOutputLength: limit })
  } catch (error) {
    const isTooLong = (error as { code?: string }).code === 'ERR_BUFFER_TOO_LARGE'
    return {
      problem: isTooLong ? `it unpacks to more than ${limit} bytes` : 'it is no base64 of zlib data',
    }
  }
  const text = bytes[0] === opcode.protocol ? pickledText(bytes) : utf8(bytes)
  return text === null ? { problem: 'it is a pickle of more than one text, or no UTF-8' } : { text }
}

const utf8 = (bytes: Buffer): string | null => {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return null
  }
}

const opcode = {
  protocol: 0x80,
  frame: 0x95,
  text8: 0x8c,
  text32: 0x58,
  text64: 0x8d,
  memoize: 0x94,
  put: 0x71,
  put32: 0x72,
  stop: 0x2e,
}

/** The only text of a pickle, or null for a pickle of anything else. */
function pickledText(bytes: Buffer): string | null {
  let text: string | null = null
  let at = 2
  const length = (width: 1 | 4 | 8): number => {
    const size = width === 8 ? Number(bytes.readBigUInt64LE(at)) : bytes.readUIntLE(at, width)
    at += width
    return size
  }
  try {
    for (;;) {
      const code = bytes.readUInt8(at++)
      if (code === opcode.stop) return at === bytes.length ? text : null
      if (code === opcode.frame) at += 8
      else if (code === opcode.put && text !== null) at += 1
      else if (code === opcode.put32 && text !== null) at += 4
      else if (code === opcode.text8 || code === opcode.text32 || code === opcode.text64) {
        const size = length(code === opcode.text8 ? 1 : code === opcode.text32 ? 4 : 8)
        if (text !== null || size > bytes.length - at) return null
        text = utf8(bytes.subarray(at, at + size))
        if (text === null) return null
        at += size
      } else if (code !== opcode.memoize || text === null) return null
    }
  } catch {
    return null // it ends too early
  }
}

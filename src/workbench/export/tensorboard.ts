/** TensorBoard's event files: records of TFRecord, each a protocol buffer `Event`. Checked by TensorBoard's own reader. */
import { rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { makeFolder } from '../../core/make-folder.ts'
import { unwritable } from '../dataset/files.ts'
import type { RunFigures, StepFigures } from './step-figures.ts'

/** TensorBoard recognises the middle of the name. It is always the same, so a later export takes the place of this one. */
export const eventFile = 'events.out.tfevents.0000000000.reward-gateway'

/** Writes the figures of a run into a folder of its own. Throws RG_INPUT_INVALID if it cannot be written. */
export async function writeEvents(folder: string, { steps }: Pick<RunFigures, 'steps'>): Promise<void> {
  try {
    await makeFolder(folder)
    const file = join(folder, eventFile)
    await writeFile(`${file}.partial`, Buffer.concat([...events(steps)]))
    await rename(`${file}.partial`, file)
  } catch (error) {
    unwritable(error)
  }
}

function* events(steps: readonly StepFigures[]): Generator<Buffer> {
  yield framed(Buffer.concat([double(1, steps[0]?.time ?? 0), bytes(3, Buffer.from('brain.Event:2'))]))
  for (const { step, time, figures } of steps) {
    const values = Object.entries(figures).map(([tag, value]) =>
      bytes(1, Buffer.concat([bytes(1, Buffer.from(tag)), float(2, value)])),
    )
    yield framed(Buffer.concat([double(1, time), whole(2, step), bytes(5, Buffer.concat(values))]))
  }
}

/** Length, its checksum, the data, its checksum. */
function framed(data: Buffer): Buffer {
  const head = Buffer.alloc(12)
  head.writeBigUInt64LE(BigInt(data.length))
  head.writeUInt32LE(maskedCrc(head.subarray(0, 8)), 8)
  const tail = Buffer.alloc(4)
  tail.writeUInt32LE(maskedCrc(data))
  return Buffer.concat([head, data, tail])
}

const key = (field: number, type: number): Buffer => varint(field * 8 + type)
const whole = (field: number, value: number): Buffer => Buffer.concat([key(field, 0), varint(value)])
const bytes = (field: number, value: Buffer): Buffer =>
  Buffer.concat([key(field, 2), varint(value.length), value])

function double(field: number, value: number): Buffer {
  const data = Buffer.alloc(8)
  data.writeDoubleLE(value)
  return Buffer.concat([key(field, 1), data])
}

function float(field: number, value: number): Buffer {
  const data = Buffer.alloc(4)
  data.writeFloatLE(value)
  return Buffer.concat([key(field, 5), data])
}

function varint(value: number): Buffer {
  const found: number[] = []
  let rest = value
  while (rest >= 128) {
    found.push((rest % 128) + 128)
    rest = Math.floor(rest / 128)
  }
  return Buffer.from([...found, rest])
}

/** CRC-32C by Castagnoli's polynomial, in reversed bits. */
const table = Uint32Array.from({ length: 256 }, (_, index) => {
  let value = index
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0x82f63b78 : value >>> 1
  return value
})

/** TFRecord rotates and shifts the checksum, so that a record may hold records. */
function maskedCrc(data: Buffer): number {
  let crc = 0xffffffff
  for (const byte of data) crc = (table[(crc ^ byte) & 255] ?? 0) ^ (crc >>> 8)
  crc = ~crc >>> 0
  return (((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0
}

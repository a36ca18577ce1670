import { join } from 'node:path'
import { GatewayError } from '../../core/errors.ts'
import { drawn, seeded } from '../../core/statistics/random.ts'
import { isObject } from '../dataset/row.ts'
import { beginRowFile, type RowFile } from '../dataset/row-file.ts'
import { jsonLines } from '../dataset/rows.ts'

/** An output file. `size` is a share of the rows (below 1), a number of rows, or null for the rest. */
export interface Split {
  readonly name: string
  readonly size: number | null
}

/** Parses `train,test=0.05` or `train,test=1024`. One split may take the rest. Throws RG_COMMAND_INVALID. */
export function readSplits(text: string): readonly Split[] {
  const refused = (why: string) => new GatewayError('RG_COMMAND_INVALID', `--split ${text}: ${why}`)
  const splits = text.split(',').map((part): Split => {
    const [name = '', size] = part.split('=')
    if (!/^[A-Za-z0-9][A-Za-z0-9_-]*$/.test(name) || name === 'dropped')
      throw refused(`'${name}' cannot name a file`)
    if (size === undefined) return { name, size: null }
    const number = size.trim() === '' ? Number.NaN : Number(size)
    if (number > 0 && (number < 1 || Number.isInteger(number))) return { name, size: number }
    throw refused(`${name} needs a share between 0 and 1, or a number of rows`)
  })
  if (splits.filter(({ size }) => size === null).length > 1) throw refused('only one split can take the rest')
  if (new Set(splits.map(({ name }) => name)).size < splits.length) throw refused('a name occurs twice')
  return splits
}

/**
 * Returns the split index of each row, or -1. Rows are drawn without replacement in the order of `splits`;
 * shares are rounded down. Throws RG_COMMAND_INVALID if there are too few rows.
 */
export function assignSplits(splits: readonly Split[], rows: number, seed: number): Int32Array {
  const random = seeded(seed)
  const rest = splits.findIndex(({ size }) => size === null)
  const assigned = new Int32Array(rows).fill(rest)
  let free: readonly number[] = Array.from({ length: rows }, (_, row) => row)
  for (const [index, { name, size }] of splits.entries()) {
    if (size === null) continue
    const wanted = size < 1 ? Math.floor(size * rows) : size
    if (wanted > free.length) {
      throw new GatewayError(
        'RG_COMMAND_INVALID',
        `--split: ${name} needs ${wanted} rows, but only ${free.length} are left`,
      )
    }
    const own = drawn(free, wanted, random)
    for (const row of own) assigned[row] = index
    free = free.filter((row) => assigned[row] === rest)
  }
  return assigned
}

interface Writing {
  readonly folder: string
  readonly splits: readonly Split[]
  /** The split index of each row, or -1. */
  readonly assigned: Int32Array
  readonly files: readonly ('parquet' | 'jsonl')[]
  readonly columns: Readonly<Record<string, string>>
  readonly signal: AbortSignal
}

/**
 * Distributes the rows of a JSON lines file over one file for each split. A file appears only when it is
 * complete.
 */
export async function writeSplits(
  rows: string,
  { folder, splits, assigned, files, columns, signal }: Writing,
): Promise<{ readonly paths: readonly string[]; readonly counts: Readonly<Record<string, number>> }> {
  const counts = new Map<string, number>(splits.map(({ name }) => [name, 0]))
  const open: RowFile[] = []
  try {
    for (const { name } of splits) open.push(await beginRowFile(join(folder, `${name}.jsonl`)))
    let at = 0
    for await (const piece of await jsonLines(rows)) {
      signal.throwIfAborted()
      for (const { value } of piece) {
        const index = assigned[at++] ?? -1
        const split = splits[index]
        if (!split || !isObject(value)) continue
        counts.set(split.name, (counts.get(split.name) ?? 0) + 1)
        const extra = isObject(value.extra_info) ? value.extra_info : {}
        await open[index]?.write(JSON.stringify({ ...value, extra_info: { ...extra, split: split.name } }))
      }
    }
    const paths: string[] = []
    for (const [index, { name }] of splits.entries()) {
      const file = open[index]
      if (files.includes('parquet')) {
        const target = join(folder, `${name}.parquet`)
        await file?.publishParquet(target, columns)
        paths.push(target)
      }
      if (!files.includes('jsonl')) continue
      await file?.publish()
      paths.push(join(folder, `${name}.jsonl`))
    }
    return { paths, counts: Object.fromEntries(counts) }
  } finally {
    await Promise.all(open.map((file) => file.remove()))
  }
}

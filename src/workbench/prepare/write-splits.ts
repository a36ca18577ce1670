import { join } from 'node:path'
import { isObject } from '../dataset/fields.ts'
import { jsonLines } from '../dataset/json-lines.ts'
import { beginRowFile, type RowFile } from '../dataset/row-file.ts'
import type { Split } from './split.ts'

/** Which rows go to which files. */
interface Writing {
  readonly folder: string
  readonly splits: readonly Split[]
  /** For each row the index of its split; -1: none. */
  readonly assigned: Int32Array
  readonly files: readonly ('parquet' | 'jsonl')[]
  readonly columns: Readonly<Record<string, string>>
  readonly signal: AbortSignal
}

/** Deals the rows of a file of JSON lines out to a file a split; every file appears whole, or not at all. */
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

import { writeFile } from 'node:fs/promises'
import { unwritable } from '../workbench/dataset/files.ts'
import type { Column, ReportTable } from '../workbench/report/tables.ts'
import type { Io } from './command.ts'

/** Rows as lines with aligned columns. Widths are in code points. */
export function textTable(columns: readonly Column[], rows: readonly (readonly string[])[]): string {
  const widths = columns.map(({ title }, at) =>
    Math.max(lengthOf(title), ...rows.map((row) => lengthOf(row[at] ?? ''))),
  )
  const line = (cells: readonly string[]): string =>
    columns
      .map(({ right }, at) => padded(cells[at] ?? '', widths[at] ?? 0, right ?? false))
      .join('  ')
      .trimEnd()
  const head = line(columns.map(({ title }) => title))
  const rule = widths.map((width) => '─'.repeat(width)).join('  ')
  return [head, rule, ...rows.map(line)].join('\n')
}

/** Tables below each other, with a note at the end. */
export const tablesText = (tables: readonly ReportTable[], note?: string): string =>
  [
    ...tables.map(({ columns, rows }) => `${textTable(columns, rows)}\n`),
    ...(note === undefined ? [] : [`${note}\n`]),
  ].join('\n')

const lengthOf = (text: string): number => [...text].length

function padded(text: string, width: number, right: boolean): string {
  const space = ' '.repeat(width - lengthOf(text))
  return right ? space + text : text + space
}

/** Writes a command's result to a file, or to standard output if `file` is absent or '-'. Throws RG_INPUT_INVALID. */
export async function deliver(content: string | Uint8Array, file: string | undefined, io: Io): Promise<void> {
  if (file === undefined || file === '-') io.stdout.write(content)
  else await writeFile(file, content).catch(unwritable)
}

import type { FigureTable } from '../report/figure-table.ts'
import { textTable } from './table.ts'

/** Tables one below the other, and a note under them. */
export function tablesText(tables: readonly FigureTable[], note?: string): string {
  const texts = tables.map(({ columns, rows }) => `${textTable(columns, rows)}\n`)
  return [...texts, ...(note === undefined ? [] : [`${note}\n`])].join('\n')
}

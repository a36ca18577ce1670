import type { FigureTable } from './figure-table.ts'
import type { Report } from './report.ts'
import { readingTable } from './run-tables.ts'

/** The report's tables as Markdown, without its plots. */
export function markdownOf({ title, files, readings, tables }: Report): string {
  return [
    `# ${escaped(title)}\n`,
    `${files.map((file) => `- ${escaped(file)}`).join('\n')}\n`,
    ...standsOut(readings),
    ...tables.map(tableOf),
  ].join('\n')
}

function standsOut(readings: Report['readings']): readonly string[] {
  if (readings === null) return []
  if (readings.length > 0) return [tableOf(readingTable(readings))]
  return ['## What stands out\n\nEvery figure that has a threshold is within it.\n']
}

function tableOf({ title, columns, rows }: FigureTable): string {
  const line = (cells: readonly string[]) => `| ${cells.map(escaped).join(' | ')} |`
  const rule = `|${columns.map(({ right }) => (right ? ' ---: |' : ' --- |')).join('')}`
  return `## ${escaped(title)}\n\n${[line(columns.map((column) => column.title)), rule, ...rows.map(line)].join('\n')}\n`
}

/** Text of a row that stays text: no markup, no links, no HTML, one line. */
const escaped = (text: string): string =>
  text
    .replace(/[\p{Cc}\p{Cs}\s\u202a-\u202e\u2066-\u2069]+/gu, ' ')
    .replace(/[\\`*_{}[\]#!|~$]/g, (sign) => `\\${sign}`)
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('://', ':&#8203;//')

import { join } from 'node:path'
import type { Lengths } from '../../workbench/dataset/lengths.ts'
import type { Prepared } from '../../workbench/prepare/prepare.ts'
import { textTable } from '../output.ts'

/** What `prepare` did, for people. */
export function preparedText(prepared: Prepared, folder: string): string {
  const { read, written, dropped, withoutGold, lengths, paths } = prepared
  const lines = [
    `${read} rows read; ${Object.entries(written)
      .map(([split, rows]) => `${split}: ${rows}`)
      .join(', ')}`,
    ...paths.map((path) => `  ${path}`),
  ]
  const reasons = Object.entries(dropped).sort(([, a], [, b]) => b - a)
  if (reasons.length > 0) {
    const count = reasons.reduce((sum, [, rows]) => sum + rows, 0)
    lines.push('', `${count} dropped; ${join(folder, 'dropped.jsonl')} names them:`)
    lines.push(...reasons.map(([reason, rows]) => `  ${String(rows).padStart(6)}  ${reason}`))
  }
  if (withoutGold > 0)
    lines.push('', `${withoutGold} rows have no right answer with them: only their ground truth was tried`)
  return `${[...lines, '', lengthTable(lengths)].join('\n')}\n`
}

function lengthTable(lengths: Readonly<Record<string, Lengths | null>>): string {
  const right = ['median', '95 %', 'longest', 'tokens, about'].map((title) => ({ title, right: true }))
  return textTable(
    [{ title: 'characters' }, ...right],
    Object.entries(lengths).flatMap(([name, found]) =>
      found ? [[name, found.median, found.p95, found.max, found.maxTokens].map(String)] : [],
    ),
  )
}

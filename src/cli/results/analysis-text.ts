import type { Analysis } from '../../workbench/analysis/analysis.ts'
import { fixed } from '../../workbench/analysis/decimals.ts'
import type { Reading } from '../../workbench/analysis/readings.ts'
import type { TrainingRun } from '../../workbench/analysis/training-run.ts'
import { analysisTables } from '../../workbench/report/analysis-tables.ts'
import type { FigureTable } from '../../workbench/report/figure-table.ts'
import { readingTable } from '../../workbench/report/run-tables.ts'
import { textTable } from '../output.ts'

/** The tables that `analyze` prints. */
export const analysisText = (analysis: Analysis): string => analysisTables(analysis).map(titled).join('\n')

/** What stands out; empty where nothing does. */
export const readingsText = (found: readonly Reading[]): string =>
  found.length > 0 ? titled(readingTable(found)) : ''

/** Names and questions come from files: what could act on a terminal is shown as a mark. */
const titled = ({ title, columns, rows }: FigureTable): string =>
  `${title}\n${textTable(
    columns,
    rows.map((row) => row.map((cell) => cell.replace(/[\p{Cc}\p{Cf}\p{Cs}]/gu, '\u{FFFD}'))),
  )}\n`

/** A training log's summary and every validation of it. */
export function runText({ file, summary, validations }: TrainingRun): string {
  const lines = Object.entries(summary).flatMap(([section, figures]) => [
    section,
    ...Object.entries(figures).map(([name, value]) => `  ${name.padEnd(16)} ${value ?? '-'}`),
  ])
  const scores = validations.map(
    ([step, score]) => `Step ${String(step).padStart(4, '0')}: ${fixed(score, 4)}`,
  )
  return [file, ...lines, ...scores, ''].join('\n')
}

/** Every validation as one line that other tools take apart: `step:5 test_score:0.75`. */
export const validationLines = ({ validations }: TrainingRun): string =>
  validations.map(([step, score]) => `step:${step} test_score:${score}\n`).join('')

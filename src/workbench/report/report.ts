import type { Analysis } from '../analysis/analysis.ts'
import { type Reading, readings } from '../analysis/readings.ts'
import type { TrainingRun } from '../analysis/training-run.ts'
import { analysisTables } from './analysis-tables.ts'
import type { Chart } from './chart.ts'
import type { FigureTable } from './figure-table.ts'
import { rewardCharts } from './reward-charts.ts'
import { runTables } from './run-tables.ts'
import { trainingSheet } from './training-sheet.ts'

/** What a report says, whatever its form. */
export interface Report {
  readonly title: string
  readonly files: readonly string[]
  /** null: its figures have no thresholds. */
  readonly readings: readonly Reading[] | null
  readonly charts: readonly Chart[]
  readonly tables: readonly FigureTable[]
}

/** The report of scored files, training logs or both. */
export function reportOf(title: string, analysis: Analysis | null, runs: readonly TrainingRun[]): Report {
  return {
    title,
    files: [...(analysis?.files ?? []), ...runs.map(({ file }) => file)],
    readings: readings(analysis, runs),
    charts: [...(analysis ? rewardCharts(analysis) : []), ...(runs.length > 0 ? [trainingSheet(runs)] : [])],
    tables: [...(analysis ? analysisTables(analysis) : []), ...runTables(runs)],
  }
}

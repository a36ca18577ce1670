import type { Analysis } from '../analysis/analysis.ts'
import type { Part } from '../analysis/policy-comparison.ts'
import { type Warning, warningsOf } from '../analysis/readings.ts'
import type { TrainingRun } from '../analysis/training-run.ts'
import type { Chart } from './chart.ts'
import { policyCharts } from './policy-charts.ts'
import { comparisonTables, evaluationTable, plainName } from './policy-tables.ts'
import { rewardCharts } from './reward-charts.ts'
import { analysisTables, type ReportTable, runTables } from './tables.ts'
import { trainingSheet } from './training-sheet.ts'

/** The content of a report, independent of its format. */
export interface Report {
  readonly title: string
  readonly files: readonly string[]
  /** null: the figures have no thresholds. */
  readonly readings: readonly Warning[] | null
  readonly charts: readonly Chart[]
  readonly tables: readonly ReportTable[]
}

/** Makes the report of scored files, training logs or both. */
export function reportOf(title: string, analysis: Analysis | null, runs: readonly TrainingRun[]): Report {
  return {
    title,
    files: [...(analysis?.files ?? []), ...runs.map(({ file }) => file)],
    readings: warningsOf(analysis, runs),
    charts: [...(analysis ? rewardCharts(analysis) : []), ...(runs.length > 0 ? [trainingSheet(runs)] : [])],
    tables: [...(analysis ? analysisTables(analysis) : []), ...runTables(runs)],
  }
}

/** The footnote below the tables of a comparison. */
export const starNote = '* the 95 % interval of the difference leaves 0 outside'

/** Makes the report of policies that answered the same data. Later policies are compared with the first. */
export function policyReport(parts: readonly Part[], names: readonly string[]): Report {
  const several = names.length > 1
  return {
    title: several ? 'Policies compared' : 'A policy evaluated',
    files: names.map(plainName),
    readings: null,
    charts: policyCharts(parts, names),
    tables: several ? comparisonTables(parts, names) : [evaluationTable(parts)],
  }
}

import type { Part } from '../analysis/policy-comparison.ts'
import { policyCharts } from './policy-charts.ts'
import { plainName } from './policy-figures.ts'
import { comparisonTables, evaluationTable } from './policy-tables.ts'
import type { Report } from './report.ts'

/** What a comparison says below its tables. */
export const starNote = '* the 95 % interval of the difference leaves 0 outside'

/** The report on policies that answered the same data, the first against the others. */
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

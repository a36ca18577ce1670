import { packageVersion } from '../../core/package-version.ts'
import type { Analysis, Origin } from '../analysis/analysis.ts'
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
  /** When and by which gateway it was written; null: it does not say. */
  readonly written: string | null
  /** Each file, with what it says of its rows. */
  readonly files: readonly string[]
  /** null: the figures have no thresholds. */
  readonly readings: readonly Warning[] | null
  readonly charts: readonly Chart[]
  readonly tables: readonly ReportTable[]
}

/** Makes the report of scored files, training logs or both. `now`: Unix time in milliseconds. */
export function reportOf(
  title: string,
  analysis: Analysis | null,
  runs: readonly TrainingRun[],
  now: number,
): Report {
  return {
    title,
    written: `Written ${timeText(new Date(now).toISOString())} by reward-gateway ${packageVersion}.`,
    files: [
      ...(analysis?.files ?? []).map((file, at) => [file, ...originText(analysis?.origins[at])].join(', ')),
      ...runs.map(({ file }) => file),
    ],
    readings: warningsOf(analysis, runs),
    charts: [...(analysis ? rewardCharts(analysis) : []), ...(runs.length > 0 ? [trainingSheet(runs)] : [])],
    tables: [...(analysis ? analysisTables(analysis) : []), ...runTables(runs)],
  }
}

/** What a scored file says of its rows, e.g. `48 rows`, `scored 2026-01-15 09:30 to 09:41 UTC`, `run a`, `reward gsm8k 0123456789abcdef`. */
function originText(origin: Origin | undefined): readonly string[] {
  if (!origin) return []
  const { rows, first, last, runs, rewards } = origin
  const named = rewards.map(({ reward, version, gateway }) =>
    [reward, version, gateway && `of reward-gateway ${gateway}`].filter(Boolean).join(' '),
  )
  return [
    `${rows} ${rows === 1 ? 'row' : 'rows'}`,
    ...(first && last ? [`scored ${timeText(first)} to ${timeText(last)}`] : []),
    ...listed('run', runs),
    ...listed('reward', named),
  ]
}

const mostListed = 5

/** The values after their name, which is plural for several; [] without values. */
function listed(name: string, values: readonly string[]): readonly string[] {
  if (values.length === 0) return []
  const more = values.length - mostListed
  const shown = values.slice(0, mostListed).join(', ') + (more > 0 ? ` and ${more} more` : '')
  return [`${name}${values.length === 1 ? '' : 's'} ${shown}`]
}

/** To the minute, for ISO 8601 in UTC; any other text as it is. */
const timeText = (time: string): string =>
  time.replace(/^(\d{4}-\d\d-\d\d)T(\d\d:\d\d)[\d:.]*Z$/, '$1 $2 UTC')

/** The footnote below the tables of a comparison. */
export const starNote = '* the 95 % interval of the difference leaves 0 outside'

/** Makes the report of policies that answered the same data. Later policies are compared with the first. */
export function policyReport(parts: readonly Part[], names: readonly string[]): Report {
  const several = names.length > 1
  return {
    written: null,
    title: several ? 'Policies compared' : 'A policy evaluated',
    files: names.map(plainName),
    readings: null,
    charts: policyCharts(parts, names),
    tables: several ? comparisonTables(parts, names) : [evaluationTable(parts)],
  }
}

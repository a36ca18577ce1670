import { fixed } from '../analysis/decimals.ts'
import type { Reading } from '../analysis/readings.ts'
import type { TrainingRun } from '../analysis/training-run.ts'
import { type FigureTable, figureColumn } from './figure-table.ts'

/** The summaries and validations of training logs, a column a run. */
export function runTables(runs: readonly TrainingRun[]): readonly FigureTable[] {
  if (runs.length === 0) return []
  const columns = runs.map(({ file }) => figureColumn(file))
  const figures = runs.map(figuresOf)
  const names = [...new Set(figures.flatMap((own) => [...own.keys()]))]
  const validations = runs.map(({ validations }) => new Map(validations))
  const steps = [...new Set(validations.flatMap((own) => [...own.keys()]))].sort((a, b) => a - b)
  return [
    {
      title: 'Training runs',
      columns: [{ title: 'figure' }, ...columns],
      rows: names.map((name) => [name, ...figures.map((own) => own.get(name) ?? '-')]),
    },
    {
      title: 'Validations',
      columns: [figureColumn('step'), ...columns],
      rows: steps.map((step) => [
        String(step),
        ...validations.map((own) => {
          const score = own.get(step)
          return score === undefined ? '-' : fixed(score, 4)
        }),
      ]),
    },
  ].filter(({ rows }) => rows.length > 0)
}

/** `section: figure` -> text, with the name under which the log has the metric. */
function figuresOf({ summary, names }: TrainingRun): ReadonlyMap<string, string> {
  const metric = Object.entries(names).map(([key, name]) => [`metric of ${key}`, name] as const)
  const figures = Object.entries(summary).flatMap(([section, own]) =>
    Object.entries(own).map(([name, value]) => [`${section}: ${name}`, String(value ?? '-')] as const),
  )
  return new Map([...figures, ...metric])
}

/** What stands out, as a table. */
export const readingTable = (readings: readonly Reading[]): FigureTable => ({
  title: 'What stands out',
  columns: [{ title: 'where' }, { title: 'figure' }, { title: 'value' }, { title: 'what to do' }],
  rows: readings.map(({ where, figure, value, advice }) => [where, figure, value, advice]),
})

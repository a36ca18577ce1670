import type { Analysis } from '../analysis/analysis.ts'
import { fixed } from '../analysis/decimals.ts'
import type { Warning } from '../analysis/readings.ts'
import type { SourceFigures } from '../analysis/source-figures.ts'
import type { TrainingRun } from '../analysis/training-run.ts'

/** A column. `right` aligns figures to the right. */
export interface Column {
  readonly title: string
  readonly right?: boolean
}

/**
 * A table. Cells are plain text, some of it from models and data sets. Every output format must escape them.
 */
export interface ReportTable {
  readonly title: string
  readonly columns: readonly Column[]
  readonly rows: readonly (readonly string[])[]
  /** What a figure of the table means; shown below it. */
  readonly note?: string
}

/** Formats a figure with fixed decimals. `-` stands for null. */
export const numberText = (value: number | null, decimals = 4): string =>
  value === null ? '-' : fixed(value, decimals)

/** Formats a share from 0 to 1 as percent. `-` stands for null. */
export const shareText = (value: number | null): string =>
  value === null ? '-' : `${fixed(value * 100, 2)} %`

export const figureColumn = (title: string): Column => ({ title, right: true })

/** The tables of scored files. Empty tables are left out. */
export function analysisTables(analysis: Analysis): readonly ReportTable[] {
  const several = analysis.files.length > 1
  const of = (file: number): string[] => (several ? [analysis.files[file] ?? ''] : [])
  const first: readonly Column[] = several ? [{ title: 'file' }] : []
  const tables = [
    sourceTable(analysis, first, of),
    passTable(analysis, first, of),
    solvedTable(analysis, first, of),
    termTable(analysis, first, of),
    {
      title: 'Agreement of terms',
      columns: [...first, { title: 'terms' }, figureColumn('rows'), figureColumn('r')],
      rows: analysis.agreements.map(({ file, terms: [a, b], rows, correlation }) => [
        ...of(file),
        `${a}, ${b}`,
        String(rows),
        numberText(correlation, 2),
      ]),
    },
    {
      title: 'Rows without a reward',
      columns: [...first, { title: 'failure' }, figureColumn('rows')],
      rows: analysis.failures.map(({ file, kind, rows }) => [...of(file), kind, String(rows)]),
    },
    {
      title: 'By status',
      columns: [...first, { title: 'status' }, ...['rows', 'share', 'valid', 'mean'].map(figureColumn)],
      rows: analysis.statuses.map((one) => [
        ...of(one.file),
        one.status || '-',
        String(one.rows),
        shareText(one.share),
        String(one.valid),
        numberText(one.mean),
      ]),
    },
    rolloutTable(analysis, first, of),
    stallTable(analysis, first, of),
    highValueTable(analysis),
  ]
  return tables.filter(({ rows }) => rows.length > 0)
}

type Of = (file: number) => string[]

function sourceTable({ sources, solvedAt }: Analysis, first: readonly Column[], of: Of): ReportTable {
  return {
    title: 'By data source',
    columns: [
      ...first,
      { title: 'data source' },
      ...['rows', 'valid', 'accuracy', 'mean', 'sd', 'r(length)'].map(figureColumn),
      ...['groups', 'group variance', 'entropy', 'saturated', 'high-value'].map(figureColumn),
    ],
    rows: sources.map((one) => [
      ...of(one.file),
      one.source || '-',
      String(one.rows),
      String(one.valid),
      shareText(one.accuracy),
      numberText(one.mean),
      numberText(one.variance === null ? null : Math.sqrt(one.variance)),
      numberText(one.lengthCorrelation, 2),
      ...groupCells(one),
    ]),
    note: `accuracy: share of valid rows with a reward of at least ${solvedAt} (--solved-at)`,
  }
}

function groupCells({ groups }: SourceFigures): string[] {
  if (!groups) return ['-', '-', '-', '-', '-']
  const { count, variance, entropy, saturated, highValue } = groups
  return [String(count), numberText(variance), numberText(entropy), shareText(saturated), String(highValue)]
}

function passTable({ sources }: Analysis, first: readonly Column[], of: Of): ReportTable {
  const passing = sources.filter(({ groups }) => groups !== null)
  const ks = [...new Set(passing.flatMap(({ groups }) => Object.keys(groups?.passAtK ?? {})))]
  return {
    title: 'pass@k',
    columns: [...first, { title: 'data source' }, ...ks.map((k) => figureColumn(`pass@${k}`))],
    rows: passing.map(({ file, source, groups }) => [
      ...of(file),
      source || '-',
      ...ks.map((k) => shareText(groups?.passAtK[k] ?? null)),
    ]),
  }
}

function solvedTable({ solved }: Analysis, first: readonly Column[], of: Of): ReportTable {
  return {
    title: 'Best answer of each group',
    columns: [
      ...first,
      { title: 'data source' },
      ...['groups', 'n', 'mean', 'pass@n', 'all zero', 'others'].map(figureColumn),
    ],
    rows: solved.map(({ file, source, groups, answers: [fewest, most], mean, passAtN, zero }) => [
      ...of(file),
      source || '-',
      String(groups),
      fewest === most ? String(most) : `${fewest}-${most}`,
      numberText(mean),
      shareText(passAtN),
      String(zero),
      String(groups - zero),
    ]),
  }
}

function termTable({ terms }: Analysis, first: readonly Column[], of: Of): ReportTable {
  return {
    title: 'By term',
    columns: [
      ...first,
      { title: 'term' },
      ...['scored', 'failed', 'mean', 'sd', 'min', 'median', 'max'].map(figureColumn),
      { title: 'distribution' },
    ],
    rows: terms.map((term) => [
      ...of(term.file),
      term.name,
      String(term.scored),
      String(term.failed),
      ...[term.mean, term.deviation, term.min, term.median, term.max].map((value) => numberText(value)),
      bars(term.histogram),
    ]),
  }
}

function rolloutTable({ rollouts }: Analysis, first: readonly Column[], of: Of): ReportTable {
  return {
    title: 'Rollouts with turns',
    columns: [
      ...first,
      ...['rollouts', 'turns', 'most turns', 'calls', 'without calls', 'malformed calls'].map(figureColumn),
    ],
    rows: rollouts.map((one) => [
      ...of(one.file),
      String(one.rows),
      numberText(one.turns, 2),
      String(one.mostTurns),
      numberText(one.calls, 2),
      shareText(one.withoutCalls),
      shareText(one.malformed),
    ]),
  }
}

/** By run and cause, the largest first. */
function stallTable({ stalls }: Analysis, first: readonly Column[], of: Of): ReportTable {
  const runs = new Map<string, { file: number; run: string; all: typeof stalls }>()
  for (const stall of stalls) {
    const key = `${stall.file} ${stall.run}`
    const { all = [] } = runs.get(key) ?? {}
    runs.set(key, { file: stall.file, run: stall.run, all: [...all, stall] })
  }
  return {
    title: 'What the last reward of a step waited for',
    columns: [
      ...first,
      { title: 'run' },
      { title: 'cause' },
      { title: 'model' },
      ...['steps', 'seconds', 'share', 'most in a step', 'training step'].map(figureColumn),
    ],
    rows: [...runs.values()].flatMap(({ file, run, all }) =>
      causesOf(all).map(({ cause, model, ms, steps, most, worst }) => [
        ...of(file),
        run || '-',
        cause,
        model || '-',
        String(steps),
        numberText(ms / 1000, 1),
        shareText(ms / all.reduce((sum, stall) => sum + stall.ms, 0)),
        numberText(most / 1000, 1),
        worst === null ? '-' : String(worst),
      ]),
    ),
  }
}

/** The causes of a run's stalls: in how many steps, how long, and the step in which it was longest. */
function causesOf(stalls: Analysis['stalls']) {
  const causes = new Map<
    string,
    { cause: string; model: string; ms: number; steps: number; most: number; worst: number | null }
  >()
  for (const { step, shares } of stalls)
    for (const { cause, model, ms } of shares) {
      const known = causes.get(`${cause} ${model}`)
      const { ms: sum = 0, steps = 0, most = 0, worst = null } = known ?? {}
      const longest = ms > most ? { most: ms, worst: step } : { most, worst }
      causes.set(`${cause} ${model}`, { cause, model, ms: sum + ms, steps: steps + 1, ...longest })
    }
  return [...causes.values()].sort((a, b) => b.ms - a.ms)
}

function highValueTable({ highValue }: Analysis): ReportTable {
  return {
    title: 'Worth training on, most variance first',
    columns: [
      { title: 'group' },
      { title: 'data source' },
      ...['group variance', 'entropy', 'accuracy'].map(figureColumn),
      { title: 'question' },
    ],
    rows: highValue.map((group) => [
      group.group_id,
      group.data_source || '-',
      fixed(group.reward_var, 3),
      fixed(group.entropy, 3),
      shareText(group.success_count / group.total_count),
      group.question?.replace(/\s+/g, ' ') ?? '-',
    ]),
  }
}

const blocks = ' ▁▂▃▄▅▆▇█'

/** Draws a histogram with block characters. The fullest bin has the highest block. */
function bars(histogram: readonly number[]): string {
  const most = histogram.reduce((a, b) => Math.max(a, b), 1)
  return histogram.map((rows) => blocks[rows === 0 ? 0 : Math.max(1, Math.round((rows / most) * 8))]).join('')
}

/** The summaries and validations of training logs, with a column for each run. */
export function runTables(runs: readonly TrainingRun[]): readonly ReportTable[] {
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

/** Maps `section: figure` to its text, and adds the log's name of each metric. */
function figuresOf({ summary, names }: TrainingRun): ReadonlyMap<string, string> {
  const metric = Object.entries(names).map(([key, name]) => [`metric of ${key}`, name] as const)
  const figures = Object.entries(summary).flatMap(([section, own]) =>
    Object.entries(own).map(([name, value]) => [`${section}: ${name}`, String(value ?? '-')] as const),
  )
  return new Map([...figures, ...metric])
}

/** The figures that need attention, as a table. */
export const readingTable = (readings: readonly Warning[]): ReportTable => ({
  title: 'What stands out',
  columns: [{ title: 'where' }, { title: 'figure' }, { title: 'value' }, { title: 'what to do' }],
  rows: readings.map(({ where, figure, value, advice }) => [where, figure, value, advice]),
})

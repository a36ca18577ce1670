import type { Analysis } from '../analysis/analysis.ts'
import { fixed } from '../analysis/decimals.ts'
import type { SourceFigures } from '../analysis/figures.ts'
import type { Series } from '../analysis/training-log.ts'
import { figureColumn, numberText, shareText } from './figure-text.ts'
import { textTable } from './table.ts'

/** The tables that `analyze` prints. */
export function analysisText({ files, sources, terms, agreements, failures }: Analysis): string {
  const several = files.length > 1
  const of = (file: number): string[] => (several ? [files[file] ?? ''] : [])
  const fileColumn = several ? [{ title: 'file' }] : []
  const bySource = textTable(
    [
      ...fileColumn,
      { title: 'data source' },
      ...['rows', 'valid', 'accuracy', 'mean', 'variance', 'r(length)'].map(figureColumn),
      ...['groups', 'within var', 'entropy', 'saturated', 'high-value'].map(figureColumn),
    ],
    sources.map((one) => [
      ...of(one.file),
      one.source || '-',
      String(one.rows),
      String(one.valid),
      shareText(one.accuracy),
      numberText(one.mean),
      numberText(one.variance),
      numberText(one.lengthCorrelation, 2),
      ...groupCells(one),
    ]),
  )
  const passing = sources.filter(({ groups }) => groups !== null)
  const ks = [...new Set(passing.flatMap(({ groups }) => Object.keys(groups?.passAtK ?? {})))]
  const passes = textTable(
    [...fileColumn, { title: 'data source' }, ...ks.map((k) => figureColumn(`pass@${k}`))],
    passing.map(({ file, source, groups }) => [
      ...of(file),
      source || '-',
      ...ks.map((k) => shareText(groups?.passAtK[k] ?? null)),
    ]),
  )
  const byTerm = textTable(
    [
      ...fileColumn,
      { title: 'term' },
      ...['scored', 'failed', 'mean', 'sd', 'min', 'median', 'max'].map(figureColumn),
      { title: 'distribution' },
    ],
    terms.map((term) => [
      ...of(term.file),
      term.name,
      String(term.scored),
      String(term.failed),
      ...[term.mean, term.deviation, term.min, term.median, term.max].map((value) => numberText(value)),
      bars(term.histogram),
    ]),
  )
  const agreed = textTable(
    [...fileColumn, { title: 'terms' }, figureColumn('rows'), figureColumn('r')],
    agreements.map(({ file, terms: [a, b], rows, correlation }) => [
      ...of(file),
      `${a}, ${b}`,
      String(rows),
      numberText(correlation, 2),
    ]),
  )
  const failed = textTable(
    [...fileColumn, { title: 'failure' }, figureColumn('rows')],
    failures.map(({ file, kind, rows }) => [...of(file), kind, String(rows)]),
  )
  return [
    bySource,
    ...(ks.length > 0 ? [passes] : []),
    byTerm,
    ...(agreements.length > 0 ? [agreed] : []),
    ...(failures.length > 0 ? [failed] : []),
    '',
  ].join('\n\n')
}

function groupCells({ groups }: SourceFigures): string[] {
  if (!groups) return ['-', '-', '-', '-', '-']
  const { count, variance, entropy, saturated, highValue } = groups
  return [String(count), numberText(variance), numberText(entropy), shareText(saturated), String(highValue)]
}

const blocks = ' ▁▂▃▄▅▆▇█'

/** Ten bins as blocks, the fullest as high as can be. */
function bars(histogram: readonly number[]): string {
  const most = Math.max(1, ...histogram)
  return histogram.map((rows) => blocks[rows === 0 ? 0 : Math.max(1, Math.round((rows / most) * 8))]).join('')
}

/** A training log's summary and every validation of it. */
export function logText(log: {
  readonly file: string
  readonly summary: Readonly<Record<string, object>>
  readonly validations: Series
}): string {
  const lines = Object.entries(log.summary).flatMap(([section, figures]) => [
    section,
    ...Object.entries(figures).map(([name, value]) => `  ${name.padEnd(16)} ${value}`),
  ])
  const validations = log.validations.map(
    ([step, score]) => `Step ${String(step).padStart(4, '0')}: ${fixed(score, 4)}`,
  )
  return [log.file, ...lines, ...validations, ''].join('\n')
}

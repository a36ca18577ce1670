import type { Cascade, JudgeComparison } from '../analysis/judge-comparison.ts'
import type { Chart } from './chart.ts'
import { acrossNumbers, ink, percentTick, plotLabel, seriesColor, upwards } from './chart.ts'
import type { Report } from './report.ts'
import { figureColumn, numberText, type ReportTable, shareText } from './tables.ts'

/** The report of judges on labelled rows. */
export const judgeReport = (comparison: JudgeComparison): Report => ({
  title: "Judges against people's labels",
  written: null,
  files: comparison.judges.map(({ name }) => name),
  readings: null,
  charts: cascadeChart(comparison),
  tables: judgeTables(comparison),
})

/** The tables of a comparison of judges. Those without rows are left out. */
function judgeTables(comparison: JudgeComparison): readonly ReportTable[] {
  const { judges, agreements, cascades, isByTokens } = comparison
  const tables = [
    {
      title: rowsNote(comparison),
      columns: [
        { title: 'judge' },
        ...['accuracy', '95 %', 'precision', 'recall', 'F1', 'kappa', 'no score', 'tokens'].map(figureColumn),
        figureColumn(isByTokens ? 'cost' : 'cost (rows)'),
      ],
      rows: judges.map((one) => [
        one.name,
        shareText(one.accuracy),
        one.interval.map(shareText).join(' to '),
        ...[one.precision, one.recall, one.f1, one.kappa].map((value) => numberText(value)),
        String(one.unscored),
        numberText(one.tokens, 1),
        numberText(one.cost, 2),
      ]),
    },
    {
      title: 'Agreement of judges',
      columns: [
        { title: 'judges' },
        ...['same verdict', 'kappa', 'only the first right', 'only the second right', 'both wrong'].map(
          figureColumn,
        ),
      ],
      rows: agreements.map((one) => [
        one.judges.join(', '),
        shareText(one.same),
        numberText(one.kappa),
        ...[one.onlyFirstRight, one.onlySecondRight, one.bothWrong].map(shareText),
      ]),
    },
    {
      title: 'Cascades',
      columns: [
        { title: 'first, then' },
        ...['below', 'asked again', 'accuracy', 'tokens', 'cost'].map(figureColumn),
        { title: 'advice' },
      ],
      rows: cascades.map((one) => [
        `${one.first}, ${one.second}`,
        ...pointCells(one.best),
        adviceOf(one, comparison),
      ]),
    },
    ...cascades.map(({ first, second, points }) => ({
      title: `${first}, then ${second}`,
      columns: [
        { title: `${first}, ${second}` },
        ...['below', 'asked again', 'accuracy', 'tokens', 'cost'].map(figureColumn),
      ],
      rows: points.map((point) => ['', ...pointCells(point)]),
    })),
  ]
  return tables.filter((table) => table.rows.length > 0)
}

/** Which rows the figures are of. */
export const rowsNote = ({ common, rows, threshold }: JudgeComparison): string =>
  `${common} of ${rows} labelled rows, which every judge scored; ${threshold} or more is yes`

const pointCells = (point: Cascade['best']): string[] =>
  point === null
    ? ['-', '-', '-', '-', '-']
    : [
        numberText(point.below),
        shareText(point.escalated),
        shareText(point.accuracy),
        numberText(point.tokens, 1),
        numberText(point.cost, 2),
      ]

/** Fewer rows make a bound of chance likely. */
const fewRows = 100

/** What a cascade is worth, in a sentence. */
function adviceOf({ first, second, advice, best }: Cascade, { judges, common }: JudgeComparison): string {
  const costOf = (name: string) => judges.find((judge) => judge.name === name)?.cost ?? 0
  const doubt = common < fewRows ? `; only ${common} rows, so this may be chance` : ''
  if (advice === 'first') return `${first} alone is as accurate as ${second}${doubt}`
  if (advice === 'unsure')
    return `the confidences of ${first} do not differ: ask for probabilities (verdict: expected), or name their field`
  if (advice === 'second' || best === null)
    return `no bound makes it as accurate as ${second} alone for less${doubt}`
  return `pays: as accurate as ${second} alone at ${shareText(best.cost / costOf(second))} of its cost${doubt}`
}

/** Accuracy by cost, one line for each cascade. Nothing without a cascade. */
function cascadeChart({ cascades, judges }: JudgeComparison): readonly Chart[] {
  const drawn = cascades.filter(({ points }) => points.length > 0)
  if (drawn.length === 0) return []
  const title = 'Accuracy of cascades by cost'
  return [
    {
      title,
      note: 'Points: the judges alone. Lines: the first judge, and the second below a confidence.',
      width: 690,
      height: 380,
      option: {
        title: { text: title, left: 'center', top: 12, textStyle: { fontSize: 15, color: ink } },
        legend: { top: 36, textStyle: { color: ink } },
        grid: { left: 80, right: 30, top: 80, bottom: 60 },
        xAxis: acrossNumbers('cost of a row'),
        yAxis: upwards('accuracy', { format: percentTick }),
        series: [
          ...drawn.slice(0, 8).map(({ first, second, points }, at) => ({
            type: 'line' as const,
            name: `${plotLabel(first, 16)}, ${plotLabel(second, 16)}`,
            color: seriesColor(at),
            data: points.map(({ cost, accuracy }) => [cost, accuracy]),
          })),
          ...judges.map(({ name, cost, accuracy }, at) => ({
            type: 'scatter' as const,
            name: plotLabel(name, 24),
            color: seriesColor(at + drawn.length),
            symbolSize: 11,
            data: [[cost, accuracy]],
          })),
        ],
      },
    },
  ]
}

import { analyzeInputs, sortInputs } from '../../workbench/analysis/analysis.ts'
import { compareJudges, type JudgeComparison } from '../../workbench/analysis/judge-comparison.ts'
import { highValueDefaults } from '../../workbench/analysis/signal.ts'
import { judgeReport } from '../../workbench/report/judge-tables.ts'
import { type Report, reportOf } from '../../workbench/report/report.ts'
import { type ReportFormat, renderReport, reportFormats } from '../../workbench/report/write.ts'
import { defineCommand, type Io } from '../command.ts'
import { file, misused, number, oneOf, repeated, text } from '../options.ts'
import { deliver } from '../output.ts'
import { judgedRows, pricedJudges, pricesOption, readLabels } from './judged-rows.ts'

const formats = [...reportFormats, 'json'] as const

/** Exit code 0. Plots are drawn only for formats that have them. */
export const command = defineCommand({
  name: 'report',
  summary: 'writes one page, or plots, about scored files and training logs',
  synopsis: ['FILE...'],
  about: `Writes one file with the figures and plots of scored files (results of 'score --keep facts', records of a gateway) and of
verl's training logs; several runs are overlaid. html is one page without scripts or external files; md has the
tables, json the figures, svg and png the plots.`,
  example: 'scored.jsonl train.log --output report.html',
  options: {
    output: file('FILE', "the file for the report; '-' is standard output", { or: '-' }),
    format: oneOf(formats, 'the form (default: by the ending of --output, or html)'),
    title: text('TEXT', 'the title of the page', { or: 'Rewards' }),
    'solved-at': number('N', 'a reward of N or more counts as solved', { or: 1 }),
    log: repeated(file('FILE', 'a training log whose first lines do not look like one')),
    labels: file(
      'FILE',
      "rows with people's labels: compares two or more scored files as judges, as 'calibrate' does",
    ),
    label: text('FIELD', 'the field with the label, e.g. extra_info.label'),
    prices: pricesOption,
  },
  positionals: 'files',
  async run({ values, positionals: files }, io) {
    const { output, 'solved-at': solvedAt } = values
    const format = values.format ?? formats.find((one) => output.endsWith(`.${one}`)) ?? 'html'
    if (files.length + values.log.length === 0)
      throw misused('a scored file or a training log is needed', 'report')
    const inputs = await sortInputs(files, values.log)
    const judges = await judgesOf(inputs.scored, values, io)
    const { analysis, runs } = await analyzeInputs(inputs, { solvedAt, thresholds: highValueDefaults })
    const report = withJudges(reportOf(values.title, analysis, runs, Date.now()), judges)
    const content =
      format === 'json'
        ? `${JSON.stringify({ ...analysis, logs: runs, readings: report.readings, ...(judges && { judges }) }, null, 2)}\n`
        : await renderReport(report, format satisfies ReportFormat)
    await deliver(content, output, io)
    return 0
  },
})

interface Labels {
  readonly labels: string | undefined
  readonly label: string | undefined
  readonly prices: readonly number[] | undefined
}

/** The scored files as judges; null: no labels are named. */
async function judgesOf(
  scored: readonly string[],
  { labels, label, prices }: Labels,
  io: Io,
): Promise<JudgeComparison | null> {
  if (labels === undefined && label === undefined && prices === undefined) return null
  if (!labels || !label || scored.length < 2)
    throw misused('--labels and --label go together, with two or more scored files', 'report')
  const files = scored.map((path) => ({ file: path, path, tokens: null }))
  const places = { labels: await readLabels(labels, label, io), terms: [], confidence: undefined }
  const { names, rows } = await judgedRows(files, places, io)
  return compareJudges(pricedJudges(names, prices, 'report'), rows, 0.5)
}

function withJudges(report: Report, judges: JudgeComparison | null): Report {
  if (judges === null) return report
  const { charts, tables } = judgeReport(judges)
  return { ...report, charts: [...report.charts, ...charts], tables: [...report.tables, ...tables] }
}

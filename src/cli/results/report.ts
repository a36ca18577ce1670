import { analyzeInputs, sortInputs } from '../../workbench/analysis/analysis.ts'
import { highValueDefaults } from '../../workbench/analysis/signal.ts'
import { reportOf } from '../../workbench/report/report.ts'
import { type ReportFormat, renderReport, reportFormats } from '../../workbench/report/write.ts'
import { defineCommand } from '../command.ts'
import { file, misused, number, oneOf, repeated, text } from '../options.ts'
import { deliver } from '../output.ts'

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
  },
  positionals: 'files',
  async run({ values, positionals: files }, io) {
    const { output, 'solved-at': solvedAt } = values
    const format = values.format ?? formats.find((one) => output.endsWith(`.${one}`)) ?? 'html'
    if (files.length + values.log.length === 0)
      throw misused('a scored file or a training log is needed', 'report')
    const { analysis, runs } = await analyzeInputs(await sortInputs(files, values.log), {
      solvedAt,
      thresholds: highValueDefaults,
    })
    const report = reportOf(values.title, analysis, runs)
    const content =
      format === 'json'
        ? `${JSON.stringify({ ...analysis, logs: runs, readings: report.readings }, null, 2)}\n`
        : await renderReport(report, format satisfies ReportFormat)
    await deliver(content, output, io)
    return 0
  },
})

import { figuresOf, sorted } from '../../workbench/analysis/analysis.ts'
import { highValueDefaults } from '../../workbench/analysis/signal.ts'
import { reportOf } from '../../workbench/report/report.ts'
import { type ReportFormat, reportFormats, written } from '../../workbench/report/write.ts'
import { finiteNumber, misused, oneOf, parsed, text, textOr, texts } from '../arguments.ts'
import type { Command } from '../command.ts'
import { deliver } from '../output.ts'

const usage = `reward-gateway report FILE... [--output FILE] [--format html|md|json|svg|png] [--title TEXT] [--solved-at N]
                      [--log FILE]...

One file with the figures and plots of scored files (results of 'score --keep facts', records of a gateway) and of verl's
training logs; several are laid over each other. The form is told by --format, else by the ending of --output, else html:
one page without scripts and without references, to be mailed or opened from a disk.

md is the tables, json the figures, svg and png the plots. Without --output it goes to standard output.`

const formats = [...reportFormats, 'json'] as const

/** Exit code 0; plots are drawn only where the form has them. */
export const command: Command = {
  summary: 'writes one page, or plots, about scored files and training logs',
  usage,
  async run(argv, io) {
    const { values, positionals: files } = parsed(
      argv,
      {
        log: texts,
        output: textOr('-'),
        format: text,
        title: textOr('Rewards'),
        'solved-at': textOr('1'),
      },
      'files',
    )
    const { output } = values
    const ending = formats.find((one) => output.endsWith(`.${one}`)) ?? 'html'
    const format = values.format === undefined ? ending : oneOf('format', values.format, formats)
    if (files.length + values.log.length === 0) {
      throw misused('a scored file or a training log is needed.', usage)
    }
    const solvedAt = finiteNumber('solved-at', values['solved-at'])
    const { analysis, runs } = await figuresOf(await sorted(files, values.log), {
      solvedAt,
      thresholds: highValueDefaults,
    })
    const report = reportOf(values.title, analysis, runs)
    const content =
      format === 'json'
        ? `${JSON.stringify({ ...analysis, logs: runs, readings: report.readings }, null, 2)}\n`
        : await written(report, format satisfies ReportFormat)
    await deliver(content, output, io)
    return 0
  },
}

import { highValueDefaults } from '../analysis/signal.ts'
import { GatewayError } from '../errors.ts'
import { reportOf } from '../report/report.ts'
import { type ReportFormat, reportFormats, written } from '../report/write.ts'
import { finiteNumber, oneOf, parsed } from './arguments.ts'
import type { Command } from './command.ts'
import { deliver } from './deliver.ts'
import { figuresOf, sorted } from './figure-inputs.ts'

const usage = `reward-gateway report FILE... [--output FILE] [--format html|md|json|svg|png] [--title TEXT] [--solved-at N]
                      [--log FILE]...

One file with the figures and plots of scored files (results of 'score --keep facts', records of a gateway) and of verl's
training logs; several are laid over each other. The form is told by --format, else by the ending of --output, else html:
one page without scripts and without references, to be mailed or opened from a disk.

md is the tables, json the figures, svg and png the plots. Without --output it goes to standard output.`

const formats = [...reportFormats, 'json'] as const

export const command: Command = {
  summary: 'writes one page, or plots, about scored files and training logs',
  usage,
  async run(argv, io) {
    const { values, positionals: files } = parsed({
      args: [...argv],
      allowPositionals: true,
      options: {
        log: { type: 'string', multiple: true, default: [] },
        output: { type: 'string', default: '-' },
        format: { type: 'string' },
        title: { type: 'string', default: 'Rewards' },
        'solved-at': { type: 'string', default: '1' },
      },
    })
    const { output } = values
    const ending = formats.find((one) => output.endsWith(`.${one}`)) ?? 'html'
    const format = values.format === undefined ? ending : oneOf('format', values.format, formats)
    if (files.length + values.log.length === 0) {
      throw new GatewayError('RG_COMMAND_INVALID', `a scored file or a training log is needed.\n${usage}`)
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

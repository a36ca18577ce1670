import type { Analysis } from '../../workbench/analysis/analysis.ts'
import {
  type AnalysisOptions,
  analyzeInputs,
  highValueGroups,
  solvedGroups,
  sortInputs,
} from '../../workbench/analysis/analysis.ts'
import { fixed } from '../../workbench/analysis/decimals.ts'
import type { Warning } from '../../workbench/analysis/readings.ts'
import { warningsOf } from '../../workbench/analysis/readings.ts'
import type { TrainingRun } from '../../workbench/analysis/training-run.ts'
import { renderCharts } from '../../workbench/report/chart.ts'
import type { ReportTable } from '../../workbench/report/tables.ts'
import { analysisTables, readingTable } from '../../workbench/report/tables.ts'
import { trainingSheet } from '../../workbench/report/training-sheet.ts'
import { pngOf } from '../../workbench/report/write.ts'
import { defineCommand, type Io } from '../command.ts'
import { BadValue, file, misused, number, oneOf, option, repeated } from '../options.ts'
import { deliver, textTable } from '../output.ts'

const selections = ['high-value', 'zero', 'best'] as const

/** Exit code 0, whatever the figures say. */
export const command = defineCommand({
  name: 'analyze',
  summary: 'gives the figures of scored files, records and training logs',
  synopsis: ['FILE...', 'FILE... --select high-value|zero|best --output FILE'],
  about: `Shows figures of scored files (results of 'score --keep facts', records of a gateway; .jsonl, .gz, .parquet) by data source and
term, and of verl's training logs (console lines or the JSON lines of its file logger). docs/figures.md explains each.

--select writes groups in place of the figures, one JSON line each. high-value: the groups worth training on, by falling
variance. zero: the groups whose best answer earns exactly 0. best: the best answer of each other group. They have
texts if 'score --keep all' wrote the files.`,
  example: 'scored.jsonl --solved-at 1',
  options: {
    log: repeated(file('FILE', 'a training log whose first lines do not look like one')),
    plot: option(
      'FILE',
      "draws the logs' accuracy, reward, gradient norm and entropy (.svg, .png), several runs overlaid",
      readPlot,
      {
        suggests: 'files',
      },
    ),
    format: oneOf(
      ['text', 'json', 'lines'],
      "the output format; lines prints only the validations, as 'step:N test_score:X'",
      {
        or: 'text',
      },
    ),
    'solved-at': number('N', 'a reward of N or more counts as solved', { or: 1 }),
    select: oneOf(selections, 'the groups to write to --output'),
    output: file('FILE', 'the file for --select'),
    'variance-min': number('N', 'high-value: the minimum variance of the rewards in a group', { or: 0.05 }),
    'entropy-min': number('N', 'high-value: the minimum entropy of the rewards in a group', { or: 0.2 }),
  },
  positionals: 'files',
  async run({ values, positionals: files }, io) {
    const { format, plot, select: which } = values
    if (files.length + values.log.length === 0)
      throw misused('a scored file or a training log is needed', 'analyze')
    const options = {
      solvedAt: values['solved-at'],
      thresholds: { varianceMin: values['variance-min'], entropyMin: values['entropy-min'], limit: 10 },
    }
    const inputs = await sortInputs(files, values.log)
    if (which !== undefined) {
      if (!values.output || inputs.scored.length === 0 || inputs.logs.length > 0) {
        throw misused('--select needs scored files, no logs, and --output FILE')
      }
      io.stdout.write(await select(which, inputs.scored, options, values.output, io))
      return 0
    }
    if ((plot !== undefined || format === 'lines') && inputs.logs.length === 0) {
      throw misused("--plot and --format lines are for training logs; 'report' draws scored files")
    }
    const { analysis, runs } = await analyzeInputs(inputs, options)
    if (plot !== undefined) {
      const [sheet] = await renderCharts([trainingSheet(runs)])
      await deliver(plot.endsWith('.png') ? await pngOf(sheet?.svg ?? '') : (sheet?.svg ?? ''), plot, io)
    }
    const found = warningsOf(analysis, runs)
    const lines = runs.map(validationLines)
    const forms = {
      json: () =>
        `${JSON.stringify({ ...analysis, logs: runs.map(({ metrics, ...run }) => run), readings: found }, null, 2)}\n`,
      lines: () => lines.join(''),
      text: () =>
        [
          ...(analysis ? [analysisText(analysis)] : []),
          ...runs.map((run) =>
            plot === undefined ? runText(run) : runText({ ...run, validations: [] }) + validationLines(run),
          ),
          readingsText(found),
        ]
          .filter(Boolean)
          .join('\n'),
    }
    io.stdout.write(forms[format]())
    if (analysis && lacksGroups(analysis))
      io.stderr.write("no two rows belong to one group; 'score --keep facts' writes the group of each row\n")
    return 0
  },
})

/** Whether there are rows, and each is a group of its own. */
const lacksGroups = ({ sources }: Analysis): boolean =>
  sources.some(({ rows }) => rows > 1) && sources.every(({ groups }) => groups === null)

function readPlot(given: string): string {
  if (/\.(?:svg|png)$/.test(given)) return given
  throw new BadValue(`must be a name that ends in .svg or .png, not '${given}'`)
}

async function select(
  which: (typeof selections)[number],
  files: readonly string[],
  options: AnalysisOptions,
  output: string,
  io: Io,
): Promise<string> {
  const groups =
    which === 'high-value' ? await highValueGroups(files, options) : await solvedGroups(files, which)
  await deliver(groups.map((group) => `${JSON.stringify(group)}\n`).join(''), output, io)
  const told = {
    'high-value': 'groups are worth training on',
    zero: 'groups have no answer that earns more than 0',
    best: 'groups have an answer that earns more than 0',
  }
  return `${groups.length} ${told[which]}: ${output}\n`
}

/** The tables that `analyze` prints. */
const analysisText = (analysis: Analysis): string => analysisTables(analysis).map(titled).join('\n')

/** The warnings as a table; empty without warnings. */
const readingsText = (found: readonly Warning[]): string =>
  found.length > 0 ? titled(readingTable(found)) : ''

/** Names and questions come from files. Replaces characters that could control a terminal. */
const titled = ({ title, columns, rows, note }: ReportTable): string =>
  `${title}\n${textTable(
    columns,
    rows.map((row) => row.map((cell) => cell.replace(/[\p{Cc}\p{Cf}\p{Cs}]/gu, '\u{FFFD}'))),
  )}\n${note === undefined ? '' : `${note}\n`}`

/** A training log's summary and every validation of it. */
function runText({ file, summary, validations }: TrainingRun): string {
  const lines = Object.entries(summary).flatMap(([section, figures]) => [
    section,
    ...Object.entries(figures).map(([name, value]) => `  ${name.padEnd(16)} ${value ?? '-'}`),
  ])
  const scores = validations.map(
    ([step, score]) => `Step ${String(step).padStart(4, '0')}: ${fixed(score, 4)}`,
  )
  return [file, ...lines, ...scores, ''].join('\n')
}

/** Each validation as one line that other tools can parse: `step:5 test_score:0.75`. */
const validationLines = ({ validations }: TrainingRun): string =>
  validations.map(([step, score]) => `step:${step} test_score:${score}\n`).join('')

import type { Analysis } from '../../workbench/analysis/analysis.ts'
import {
  type AnalysisOptions,
  figuresOf,
  highValueGroups,
  solvedGroups,
  sorted,
} from '../../workbench/analysis/analysis.ts'
import { fixed } from '../../workbench/analysis/decimals.ts'
import type { Reading } from '../../workbench/analysis/readings.ts'
import { readings } from '../../workbench/analysis/readings.ts'
import type { TrainingRun } from '../../workbench/analysis/training-run.ts'
import { drawn } from '../../workbench/report/chart.ts'
import type { FigureTable } from '../../workbench/report/tables.ts'
import { analysisTables, readingTable } from '../../workbench/report/tables.ts'
import { trainingSheet } from '../../workbench/report/training-sheet.ts'
import { pngOf } from '../../workbench/report/write.ts'
import { finiteNumber, misused, oneOf, parsed, text, textOr, texts } from '../arguments.ts'
import type { Command, Io } from '../command.ts'
import { deliver, textTable } from '../output.ts'

const usage = `reward-gateway analyze FILE... [--log FILE]... [--plot FILE] [--format text|json|lines] [--solved-at N]
                       [--select high-value|zero|best --output FILE] [--variance-min N] [--entropy-min N]

Figures of scored files (results of 'score --keep facts', records of a gateway; .jsonl, .gz, .parquet) by data source and
term, and of verl's training logs (console lines or its file logger's JSON lines). docs/figures.md explains each.

--log FILE           a training log whose first lines do not look like one
--plot FILE          draws the logs' accuracy, reward, gradient norm and entropy (.svg, .png), runs over each other, and
                     prints each validation as 'step:N test_score:X'; --format lines prints nothing else
--solved-at N        a reward of N or more counts as solved (default 1)
--select high-value  writes the groups worth training on to --output, one JSON line each, by falling variance
--select zero|best   writes the groups whose best answer earns exactly 0, or the best answer of each other group; with
                     their texts, of files that 'score --keep all' wrote`

const selections = ['high-value', 'zero', 'best'] as const

/** Exit code 0; what stands out is told, not failed for. */
export const command: Command = {
  summary: 'gives the figures of scored files, records and training logs',
  usage,
  async run(argv, io) {
    const { values, positionals: files } = parsed(
      argv,
      {
        log: texts,
        plot: text,
        'solved-at': textOr('1'),
        format: textOr('text'),
        select: text,
        output: text,
        'variance-min': textOr('0.05'),
        'entropy-min': textOr('0.2'),
      },
      'files',
    )
    const format = oneOf('format', values.format, ['text', 'json', 'lines'])
    if (files.length + values.log.length === 0) {
      throw misused('a scored file or a training log is needed.', usage)
    }
    const options = {
      solvedAt: finiteNumber('solved-at', values['solved-at']),
      thresholds: {
        varianceMin: finiteNumber('variance-min', values['variance-min']),
        entropyMin: finiteNumber('entropy-min', values['entropy-min']),
        limit: 10,
      },
    }
    const { plot } = values
    if (plot !== undefined && !/\.(?:svg|png)$/.test(plot)) {
      throw misused(`--plot ${plot}: a name that ends in .svg or .png is needed`)
    }
    const inputs = await sorted(files, values.log)
    if (values.select !== undefined) {
      const which = oneOf('select', values.select, selections)
      if (!values.output || inputs.scored.length === 0 || inputs.logs.length > 0) {
        throw misused('--select needs scored files, no logs, and --output FILE')
      }
      io.stdout.write(await select(which, inputs.scored, options, values.output, io))
      return 0
    }
    if ((plot !== undefined || format === 'lines') && inputs.logs.length === 0) {
      throw misused("this is of training logs; 'report' draws scored files")
    }
    const { analysis, runs } = await figuresOf(inputs, options)
    if (plot !== undefined) {
      const [sheet] = await drawn([trainingSheet(runs)])
      await deliver(plot.endsWith('.png') ? await pngOf(sheet?.svg ?? '') : (sheet?.svg ?? ''), plot, io)
    }
    const found = readings(analysis, runs)
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
    return 0
  },
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
    zero: 'groups have no answer that earns anything',
    best: 'groups have an answer that earns something',
  }
  return `${groups.length} ${told[which]}: ${output}\n`
}

/** The tables that `analyze` prints. */
export const analysisText = (analysis: Analysis): string => analysisTables(analysis).map(titled).join('\n')

/** What stands out; empty where nothing does. */
export const readingsText = (found: readonly Reading[]): string =>
  found.length > 0 ? titled(readingTable(found)) : ''

/** Names and questions come from files: what could act on a terminal is shown as a mark. */
const titled = ({ title, columns, rows }: FigureTable): string =>
  `${title}\n${textTable(
    columns,
    rows.map((row) => row.map((cell) => cell.replace(/[\p{Cc}\p{Cf}\p{Cs}]/gu, '\u{FFFD}'))),
  )}\n`

/** A training log's summary and every validation of it. */
export function runText({ file, summary, validations }: TrainingRun): string {
  const lines = Object.entries(summary).flatMap(([section, figures]) => [
    section,
    ...Object.entries(figures).map(([name, value]) => `  ${name.padEnd(16)} ${value ?? '-'}`),
  ])
  const scores = validations.map(
    ([step, score]) => `Step ${String(step).padStart(4, '0')}: ${fixed(score, 4)}`,
  )
  return [file, ...lines, ...scores, ''].join('\n')
}

/** Every validation as one line that other tools take apart: `step:5 test_score:0.75`. */
export const validationLines = ({ validations }: TrainingRun): string =>
  validations.map(([step, score]) => `step:${step} test_score:${score}\n`).join('')

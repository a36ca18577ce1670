import { readFile, writeFile } from 'node:fs/promises'
import { analyse, highValueGroups } from '../analysis/analysis.ts'
import { metricsOfRun, readTrainingLog } from '../analysis/training-log.ts'
import { trainingSummary } from '../analysis/training-summary.ts'
import { GatewayError } from '../errors.ts'
import { analysisText, logText } from './analysis-text.ts'
import { finiteNumber, oneOf, parsed } from './arguments.ts'
import type { Command } from './command.ts'

const usage = `reward-gateway analyze [FILE...] [--log FILE]... [--solved-at N] [--format text|json]
                       [--select high-value --output FILE] [--variance-min N] [--entropy-min N]

Figures of scored files (results of 'score --keep facts', records of a gateway; .jsonl, .gz, .parquet) by data source and
term, and of verl's training logs (console lines or its file logger's JSON lines). docs/evaluation.md explains each.

--solved-at N        a reward of N or more counts as solved (default 1)
--select high-value  writes the groups worth training on to --output, one JSON line each, by falling variance`

export const command: Command = {
  summary: 'gives the figures of scored files, records and training logs',
  usage,
  async run(argv, io) {
    const { values, positionals: files } = parsed({
      args: [...argv],
      allowPositionals: true,
      options: {
        log: { type: 'string', multiple: true, default: [] },
        'solved-at': { type: 'string', default: '1' },
        format: { type: 'string', default: 'text' },
        select: { type: 'string' },
        output: { type: 'string' },
        'variance-min': { type: 'string', default: '0.05' },
        'entropy-min': { type: 'string', default: '0.2' },
      },
    })
    const format = oneOf('format', values.format, ['text', 'json'])
    if (files.length + values.log.length === 0) {
      throw new GatewayError('RG_COMMAND_INVALID', `a scored file or a --log is needed.\n${usage}`)
    }
    const options = {
      solvedAt: finiteNumber('solved-at', values['solved-at']),
      thresholds: {
        varianceMin: finiteNumber('variance-min', values['variance-min']),
        entropyMin: finiteNumber('entropy-min', values['entropy-min']),
        limit: Number.POSITIVE_INFINITY,
      },
    }
    if (values.select !== undefined) {
      oneOf('select', values.select, ['high-value'])
      if (!values.output || files.length === 0) {
        throw new GatewayError('RG_COMMAND_INVALID', '--select needs scored files and --output FILE')
      }
      const groups = await highValueGroups(files, options)
      await writeFile(values.output, groups.map((group) => `${JSON.stringify(group)}\n`).join(''))
      io.stdout.write(`${groups.length} groups are worth training on: ${values.output}\n`)
      return 0
    }
    const analysis = files.length > 0 ? await analyse(files, options) : null
    const logs = await Promise.all(values.log.map(readLog))
    io.stdout.write(
      format === 'json'
        ? `${JSON.stringify({ ...analysis, logs }, null, 2)}\n`
        : [...(analysis ? [analysisText(analysis)] : []), ...logs.map(logText)].join('\n'),
    )
    return 0
  },
}

async function readLog(path: string) {
  const text = await readFile(path, 'utf8').catch((cause: Error) => {
    throw new GatewayError('RG_INPUT_INVALID', `${path}: ${cause.message}`, { cause })
  })
  const metrics = metricsOfRun(readTrainingLog(text))
  if (Object.values(metrics).every((series) => series.length === 0)) {
    throw new GatewayError('RG_INPUT_INVALID', `${path}: no line holds a step and a metric of verl's`)
  }
  try {
    return { file: path, summary: trainingSummary(metrics), validations: metrics.test_score ?? [] }
  } catch (cause) {
    throw new GatewayError('RG_INPUT_INVALID', `${path}: ${(cause as Error).message}`, { cause })
  }
}

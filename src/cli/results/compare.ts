import type { Estimate } from '../../workbench/analysis/estimates.ts'
import { compareAnswers, type Part } from '../../workbench/analysis/policy-comparison.ts'
import { figuresIn, figureTitle, plainName } from '../../workbench/report/policy-tables.ts'
import { policyReport, starNote } from '../../workbench/report/report.ts'
import { written } from '../../workbench/report/write.ts'
import {
  finiteNumber,
  given,
  misused,
  oneOf,
  parsed,
  seedNumber,
  text,
  textOr,
  wholeNumber,
} from '../arguments.ts'
import type { Command } from '../command.ts'
import { deliver, tablesText } from '../output.ts'
import { policyFiles, readPolicies } from './policy-files.ts'

const usage = `reward-gateway compare BASE [TRAINED...] [--format text|csv|md|json|html|svg|png] [--output FILE]
                       [--k N] [--solved-at N] [--rounds N] [--seed N]

Compares policies that answered the same data: scored files of 'evaluate', or folders of a suite's. Mean score, pass@1,
pass@k, maj@k, entropy, length; each with a 95 % interval, and the differences from BASE with theirs, row by row; mean
and deviation over runs; by data source, benchmark and suite. One file alone gets its figures. docs/evaluate.md.
html is one page with plots; svg and png are the plots.

--k          the k of pass@k and maj@k (default: as the runs said, else the answers of a run)
--solved-at  a reward of so much is a success (default: as the runs said, else 1)
--rounds     samples that the bootstrap draws (default 2000), repeatably by --seed (default 0)`

const formats = ['text', 'csv', 'md', 'json', 'html', 'svg', 'png'] as const
type Format = (typeof formats)[number]

/** Exit code 0, whichever policy is better. */
export const command: Command = {
  summary: 'compares policies on the same data',
  usage,
  async run(argv, io) {
    const { values, positionals } = parsed(
      argv,
      {
        format: text,
        output: text,
        k: text,
        'solved-at': text,
        rounds: textOr('2000'),
        seed: textOr('0'),
      },
      'files',
    )
    const { output } = values
    const ending = formats.find((one) => output?.endsWith(`.${one}`)) ?? 'text'
    const format = values.format === undefined ? ending : oneOf('format', values.format, formats)
    if (positionals.length === 0) throw misused('BASE is needed.', usage)
    const k = given(values.k, (text) => wholeNumber('k', text, 1, 1024))
    const solvedAt = given(values['solved-at'], (text) => finiteNumber('solved-at', text))
    const rounds = wholeNumber('rounds', values.rounds, 100, 100_000)
    const seed = seedNumber(values.seed)
    const policies = await policyFiles(positionals)
    const names = policies.map(({ name }) => name)
    const { answers, kOf, solvedAtOf, warnings } = await readPolicies(policies, { k, solvedAt }, io)
    for (const warning of warnings) io.stderr.write(`${warning}\n`)
    const parts = compareAnswers(answers, { kOf, solvedAtOf, rounds, seed })
    await deliver(await contentOf(format, parts, names), output, io)
    return 0
  },
}

async function contentOf(
  format: Format,
  parts: readonly Part[],
  names: readonly string[],
): Promise<string | Uint8Array> {
  if (format === 'json') return `${JSON.stringify({ policies: names, parts }, null, 2)}\n`
  if (format === 'csv') return comparisonCsv(parts, names)
  const report = policyReport(parts, names)
  if (format === 'text') return tablesText(report.tables, names.length > 1 ? starNote : undefined)
  return written(report, format)
}

const columns = [
  ...[
    'benchmark',
    'data_source',
    'figure',
    'policy',
    'prompts',
    'answers',
    'invalid',
    'value',
    'low',
    'high',
  ],
  ...['runs_mean', 'runs_deviation', 'paired_prompts', 'difference', 'difference_low', 'difference_high'],
]

/** One line a part, figure and policy. */
export function comparisonCsv(parts: readonly Part[], names: readonly string[]): string {
  const lines = parts.flatMap((part) =>
    figuresIn(part).flatMap((figure) =>
      part.policies.map((policy, at) => {
        const gap = at === 0 ? undefined : part.differences[at - 1]
        const runs = policy.overRuns[figure]
        return [
          ...[
            part.benchmark ?? '',
            plainName(part.source ?? ''),
            figureTitle(figure, part.k),
            names[at] ?? '',
          ],
          ...[policy.prompts, policy.answers, policy.invalid],
          ...cells(policy.figures[figure]),
          ...[runs?.mean, runs?.deviation, gap?.prompts],
          ...cells(gap?.figures[figure]),
        ]
      }),
    ),
  )
  return [columns, ...lines].map((line) => `${line.map(csvCell).join(',')}\n`).join('')
}

const cells = (estimate: Estimate | undefined) => [
  estimate?.value,
  estimate?.interval?.[0],
  estimate?.interval?.[1],
]

/** A text that a spreadsheet would take for a formula gets a quote before it. */
function csvCell(value: string | number | null | undefined): string {
  if (typeof value !== 'string') return value == null ? '' : String(value)
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

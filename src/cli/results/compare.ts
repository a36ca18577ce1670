import type { Estimate } from '../../workbench/analysis/estimates.ts'
import { compareAnswers, type Part } from '../../workbench/analysis/policy-comparison.ts'
import { figuresIn, figureTitle, plainName } from '../../workbench/report/policy-tables.ts'
import { policyReport, starNote } from '../../workbench/report/report.ts'
import { renderReport } from '../../workbench/report/write.ts'
import { defineCommand } from '../command.ts'
import { file, misused, number, oneOf, seed, whole } from '../options.ts'
import { deliver, tablesText } from '../output.ts'
import { policyFiles, readPolicies } from './policy-files.ts'

const formats = ['text', 'csv', 'md', 'json', 'html', 'svg', 'png'] as const
type Format = (typeof formats)[number]

/** Exit code 0, regardless of which policy is better. */
export const command = defineCommand({
  name: 'compare',
  summary: 'compares policies on the same data',
  synopsis: ['BASE [TRAINED...]'],
  about: `Compares policies that answered the same data: scored files of 'evaluate', or folders of a suite's. Shows mean score, pass@1,
pass@k, maj@k, entropy and length, each with a 95 % interval, and the paired differences from BASE with theirs; mean
and deviation over runs; by data source, benchmark and suite. One file alone gets its figures. docs/evaluate.md.`,
  example: 'base.jsonl step-100.jsonl step-200.jsonl --output compare.html',
  options: {
    format: oneOf(
      formats,
      'html is one page with plots, svg and png are the plots (default: by the ending of --output, or text)',
    ),
    output: file('FILE', 'the file for the comparison; standard output by default'),
    k: whole('N', 'the k of pass@k and maj@k (default: that of the runs, or the answers of a run)', {
      low: 1,
      high: 1024,
    }),
    'solved-at': number('N', 'a reward of N or more counts as a success (default: that of the runs, or 1)'),
    rounds: whole('N', 'samples that the bootstrap draws', { low: 100, high: 100_000, or: 2000 }),
    seed: seed('makes the bootstrap repeatable', { or: 0 }),
  },
  positionals: 'files',
  async run({ values, positionals }, io) {
    const { output, rounds, seed, k = null, 'solved-at': solvedAt = null } = values
    const format = values.format ?? formats.find((one) => output?.endsWith(`.${one}`)) ?? 'text'
    if (positionals.length === 0)
      throw misused('a BASE is needed: the answers of the policy to compare with', 'compare')
    const policies = await policyFiles(positionals)
    const names = policies.map(({ name }) => name)
    const { answers, kOf, solvedAtOf, warnings } = await readPolicies(policies, { k, solvedAt }, io)
    for (const warning of warnings) io.stderr.write(`${warning}\n`)
    const parts = compareAnswers(answers, { kOf, solvedAtOf, rounds, seed })
    await deliver(await contentOf(format, parts, names), output, io)
    return 0
  },
})

async function contentOf(
  format: Format,
  parts: readonly Part[],
  names: readonly string[],
): Promise<string | Uint8Array> {
  if (format === 'json') return `${JSON.stringify({ policies: names, parts }, null, 2)}\n`
  if (format === 'csv') return comparisonCsv(parts, names)
  const report = policyReport(parts, names)
  if (format === 'text') return tablesText(report.tables, names.length > 1 ? starNote : undefined)
  return renderReport(report, format)
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

/** One line for each part, figure and policy. */
function comparisonCsv(parts: readonly Part[], names: readonly string[]): string {
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

/** Prefixes a quote to a text that a spreadsheet would treat as a formula. */
function csvCell(value: string | number | null | undefined): string {
  if (typeof value !== 'string') return value == null ? '' : String(value)
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

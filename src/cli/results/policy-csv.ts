import type { Estimate } from '../../workbench/analysis/estimates.ts'
import type { Part } from '../../workbench/analysis/policy-comparison.ts'
import { figuresIn, figureTitle, plainName } from '../../workbench/report/policy-figures.ts'

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

import type { Lengths } from '../../workbench/dataset/lengths.ts'
import type { Finding } from '../../workbench/preflight/finding.ts'
import type { Report } from '../../workbench/preflight/preflight.ts'
import type { Probe } from '../../workbench/preflight/signal-probe.ts'
import { textTable } from '../output.ts'

/** A report for people: what is wrong first, then what was seen. */
export function reportText(report: Report): string {
  const { reward, files, rows, findings, levels, lengths, questions, probe } = report
  const parts = [
    ...questions.map(
      ({ row, step, model, text }) =>
        `── row ${row}, step ${step}: what ${model} would be asked\n${text.trimEnd()}\n──`,
    ),
    ...levelText(levels),
    ...(lengths ? [lengthText(lengths)] : []),
    ...(probe ? [probeText(probe)] : []),
    ...findings.map(findingText),
    `${rows} rows of ${files.join(', ')} for ${reward}: ${countsText(findings)}`,
  ]
  return `${parts.join('\n\n')}\n`
}

function findingText({ severity, name, message, advice, rows, count }: Finding): string {
  const more = count > rows.length ? ', ...' : ''
  const where =
    count === 0 ? '' : rows.length === 0 ? ` (${count} rows)` : ` (${many(count)}: ${rows.join(', ')}${more})`
  return `${severity} ${name}: ${message}${where}\n  ${advice}`
}

const many = (count: number): string => (count === 1 ? 'row' : `${count} rows`)

function countsText(findings: readonly Finding[]): string {
  return (['error', 'warning', 'note'] as const)
    .map((severity) => {
      const count = findings.filter((found) => found.severity === severity).length
      return `${count} ${severity}${count === 1 ? '' : 's'}`
    })
    .join(', ')
}

function levelText(levels: Report['levels']): string[] {
  const lines = Object.entries(levels).flatMap(([source, own]) =>
    own.map(({ reward, rows }) => [source, String(reward), String(rows)]),
  )
  if (lines.length === 0) return []
  const columns = [
    { title: 'right answers of' },
    { title: 'earn of the rules', right: true },
    { title: 'rows', right: true },
  ]
  return [textTable(columns, lines)]
}

const lengthText = ({ median, p95, max, maxTokens }: Lengths): string =>
  `prompts have ${median} characters (median), ${p95} (95 %), ${max} (longest: about ${maxTokens} tokens)`

const verdicts: Readonly<Record<Probe['verdict'], string>> = {
  good: 'good: right answers are among them',
  format: 'form is rewarded, right answers are not found yet',
  weak: 'weak: hardly anything is rewarded',
  none: 'none: answers to one prompt all earn the same',
}

function probeText({ prompts, answers, verdict, mean, max, min, levels, groups }: Probe): string {
  const spread = groups.reduce((sum, { variance }) => sum + variance, 0) / groups.length
  const table = textTable(
    [
      { title: 'reward', right: true },
      { title: 'answers', right: true },
    ],
    levels.map(({ reward, answers }) => [reward.toFixed(3), String(answers)]),
  )
  return [
    `the policy's ${answers} answers to ${prompts} prompts`,
    table,
    `mean ${mean.toFixed(3)}, highest ${max.toFixed(3)}, lowest ${min.toFixed(3)}, mean variance in a prompt ${spread.toFixed(4)}`,
    `learning signal ${verdicts[verdict]}`,
  ].join('\n')
}

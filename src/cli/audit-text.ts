import type { Finding, Findings, Rate } from '../audit/findings.ts'
import { textTable } from './table.ts'

const columns = [
  { title: 'attack' },
  { title: 'paid too much', right: true },
  { title: '95 % interval', right: true },
  { title: 'in full', right: true },
  { title: 'mean reward', right: true },
  { title: 'invalid', right: true },
]

/** The findings as a table for people; every attack with `verbose`, else families and what succeeded. */
export function auditText(findings: Findings, failing: ReadonlySet<string>, verbose: boolean): string {
  const { reward, version, rows, right, near, means, families, attacks, parsers } = findings
  const told = attacks.filter(({ name, successes }) => verbose || successes > 0 || failing.has(name))
  const lines = [
    `${reward} (version ${version}), ${rows} rows`,
    `right answers: mean ${number(means.right)}, paid above the worst text ${share(right)}`,
    `near misses: mean ${number(means.near)}, paid below the right answer ${share(near)}`,
    `an answer that says nothing: mean ${number(means.nothing)}`,
    '',
    textTable([{ title: 'family' }, ...columns.slice(1)], families.map(row)),
    '',
    told.length === 0 ? 'No attack succeeded.' : textTable(columns, told.map(row)),
  ]
  const misread = parsers.filter(({ readAsBest }) => readAsBest)
  if (parsers.length > 0)
    lines.push('', `faulty replies read as the best verdict: ${misread.length} of ${parsers.length}`)
  for (const { step, reply } of misread) lines.push(`  ${step}: ${reply}`)
  if (failing.size > 0) lines.push('', `FAILED: ${[...failing].join('; ')}`)
  return `${lines.join('\n')}\n`
}

const row = (finding: Finding): readonly string[] => [
  finding.name,
  `${finding.successes}/${finding.trials}`,
  `${percent(finding.low)} to ${percent(finding.high)}`,
  String(finding.paidInFull),
  number(finding.meanReward),
  Object.entries(finding.invalid)
    .map(([kind, count]) => `${count} ${kind}`)
    .join(', '),
]

const share = ({ successes, trials, low, high }: Rate): string =>
  `${successes}/${trials} (${percent(low)} to ${percent(high)})`

const percent = (value: number): string => `${Math.round(value * 1000) / 10} %`

const number = (value: number | null): string =>
  value === null ? '-' : String(Math.round(value * 1000) / 1000)

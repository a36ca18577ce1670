import type { Finding, Findings, Rate } from '../../workbench/audit/findings.ts'
import { textTable } from '../output.ts'

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
    ...examples(told),
  ]
  const misread = parsers.filter(({ readAsBest }) => readAsBest)
  if (parsers.length > 0)
    lines.push('', `faulty replies read as the best verdict: ${misread.length} of ${parsers.length}`)
  for (const { step, reply } of misread) lines.push(`  ${step}: ${reply}`)
  lines.push('', verdict(attacks, failing))
  return `${lines.join('\n')}\n`
}

/** What the whole of it comes to, in one line. */
function verdict(attacks: readonly Finding[], failing: ReadonlySet<string>): string {
  if (failing.size > 0) {
    const full = attacks.filter(({ name, paidInFull }) => paidInFull > 0 && failing.has(name)).length
    const lead =
      full === 0 ? '' : `${full} ${full === 1 ? 'attack is' : 'attacks are'} paid as much as a right answer: `
    return `FAILED: ${lead}${[...failing].join('; ')}`
  }
  const more = attacks.filter(({ successes }) => successes > 0).length
  const rest = more === 0 ? '' : `; ${more} went through in part, or may (--accept)`
  return `PASSED: none of ${attacks.length} attacks is paid as much as a right answer${rest}`
}

const longestExample = 240

/** A text that went through for each attack that did, so that it can be seen and mended. */
function examples(told: readonly Finding[]): string[] {
  const lines = told.flatMap(({ name, example }) =>
    example === null
      ? []
      : [
          `  ${name}: row ${quoted(example.row)}, paid ${number(example.reward)} for ${quoted(example.response)}`,
        ],
  )
  return lines.length === 0 ? [] : ['', 'for example:', ...lines]
}

/** As JSON, shortened, with every control and formatting character escaped. */
const quoted = (text: string): string => {
  const short = text.length > longestExample ? `${text.slice(0, longestExample)}…` : text
  return JSON.stringify(short).replace(
    /[\p{Cc}\p{Cf}\u2028\u2029]/gu,
    (char) => `\\u{${char.codePointAt(0)?.toString(16)}}`,
  )
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

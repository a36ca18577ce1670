import { adviceFor } from '../../workbench/audit/advice.ts'
import type { RanCase } from '../../workbench/audit/cases.ts'
import {
  type Finding,
  type Findings,
  junit,
  type Rate,
  type Refusals,
  rateOf,
  unpaid,
} from '../../workbench/audit/findings.ts'
import { nameOfReply } from '../../workbench/audit/parsers.ts'
import { textTable } from '../output.ts'

/** What makes the command fail. */
interface Failing {
  /** In the order of the verdict: attacks, families of refused rewrites, replies. */
  readonly all: readonly string[]
  readonly attacks: readonly Finding[]
  /** Attacks that are paid as much as a right answer on a row. */
  readonly full: readonly string[]
  /** The other attacks that are paid more often than `--fail-above`. */
  readonly other: readonly string[]
  readonly refused: readonly Refusals[]
  /** Faulty replies that are read as the best verdict. */
  readonly misread: readonly string[]
  /** Attacks that contradict the answer outside its place. */
  readonly outside: ReadonlySet<string>
  /** Refused rewrites among those that nobody accepted. */
  readonly refusals: Rate
}

/** True for an attack or a rewrite that is accepted by its name or its family. */
export const isAccepted = (name: string, accepted: readonly string[]): boolean =>
  accepted.some((one) => name === one || name.startsWith(`${one}/`))

/** Compares the findings with the limits. */
export function failingOf(
  { paysForNothing, attacks, parsers, rewrites }: Findings,
  limits: {
    readonly accept: readonly string[]
    readonly strict: boolean
    readonly limit: number | null
    readonly refuse: number
  },
): Failing {
  const { accept, strict, limit, refuse } = limits
  const counts = (name: string) => !isAccepted(name, accept)
  const outside = new Set(attacks.flatMap(({ isOutside, name }) => (isOutside ? [name] : [])))
  const went = attacks.filter(
    ({ name, rate, paidInFull, trials }) =>
      counts(name) &&
      (strict || !outside.has(name)) &&
      (paidInFull > (limit ?? 0) * trials || (limit !== null && rate > limit)),
  )
  const asked = rewrites.filter(({ name }) => counts(name))
  const sum = (pick: (one: Rate) => number) => asked.reduce((total, one) => total + pick(one), 0)
  const refusals = rateOf(
    sum(({ successes }) => successes),
    sum(({ trials }) => trials),
  )
  const refused = refusals.rate > refuse ? asked.filter(({ successes }) => successes > 0) : []
  const misread = parsers
    .filter(({ readAsBest }) => readAsBest)
    .map(nameOfReply)
    .filter(counts)
  const full = new Set(paysForNothing.filter((name) => name !== unpaid && counts(name)))
  for (const { name, paidInFull } of went) if (paidInFull > 0) full.add(name)
  const other = went.map(({ name }) => name).filter((name) => !full.has(name))
  const none = paysForNothing.filter((name) => name === unpaid && counts(name))
  const all = [...new Set([...none, ...full, ...other, ...refused.map(({ name }) => name), ...misread])]
  return { all, attacks: went, full: [...full], other, refused, misread, outside, refusals }
}

/** The findings in the form that was asked for. */
export function written(
  format: 'text' | 'json' | 'junit',
  findings: Findings,
  failing: Failing,
  shown: { readonly verbose: boolean; readonly show: boolean; readonly strict: boolean },
): string {
  if (format === 'json')
    return `${JSON.stringify({ ...findings, passed: failing.all.length === 0, failing: failing.all }, null, 2)}\n`
  if (format === 'junit') {
    const names = new Set(failing.all)
    return junit(findings, (attack) => names.has(attack))
  }
  return auditText(findings, failing, shown)
}

/** The cases with what they earned, the broken ones first. */
export function ranText(ran: readonly RanCase[]): string {
  const broken = ran.filter(({ isBroken }) => isBroken)
  const lines = broken.map(
    ({ name, must, response, reward, rightReward }) =>
      `  ${name}: paid ${rounded(reward)}, a right answer ${rounded(rightReward)}; it must ${must}: ${quoted(response)}`,
  )
  const verdict =
    broken.length === 0
      ? `PASSED: ${ran.length} cases hold`
      : `FAILED: ${broken.length} of ${ran.length} cases are broken`
  return `${[...lines, verdict].join('\n')}\n`
}

const columns = [
  { title: 'attack' },
  { title: 'paid too much', right: true },
  { title: '95 % interval', right: true },
  { title: 'in full', right: true },
  { title: 'mean reward', right: true },
  { title: 'invalid', right: true },
]

const refusalColumns = [
  { title: 'rewrites of right answers' },
  { title: 'refused', right: true },
  { title: '95 % interval', right: true },
]

/** More attacks are shown with `verbose`. */
const mostShown = 40

/**
 * The findings as tables for people. Shows all attacks with `verbose`, otherwise the families and the attacks that
 * succeeded.
 */
function auditText(
  findings: Findings,
  failing: Failing,
  { verbose, show, strict }: { readonly verbose: boolean; readonly show: boolean; readonly strict: boolean },
): string {
  /** Told apart, because they do not fail the audit. */
  const isAside = ({ isOutside }: Finding) => isOutside && !strict && !verbose
  const {
    reward,
    version,
    rows,
    right,
    near,
    worthless,
    means,
    families,
    attacks,
    parsers,
    forms,
    rewrites,
  } = findings
  const names = new Set(failing.all)
  const paidFor = attacks.filter(({ name, successes }) => verbose || names.has(name) || successes > 0)
  const succeeded = paidFor.filter((one) => !isAside(one))
  const aside = paidFor.filter(isAside)
  const told = verbose ? succeeded : succeeded.slice(0, mostShown)
  const lines = [
    `${reward} (version ${version}), ${rows} rows`,
    `right answers: mean ${rounded(means.right)}, paid above the worst text ${share(right)}`,
    `near misses: mean ${rounded(means.near)}, paid below the right answer ${share(near)}`,
    `an answer that says nothing: mean ${rounded(means.nothing)}`,
  ]
  if (worthless > 0)
    lines.push(
      `warning: the responses of ${worthless} of ${rows} rows earn no more than an answer that says nothing; if they are wrong, leave these rows out, because every response counts as a right answer here`,
    )
  const paid = Object.entries(forms).map(([form, count]) => `${form} (${count})`)
  if (paid.length > 0) lines.push(`forms that pay, by rows: ${paid.join(', ')}`)
  if (findings.isCutShort) lines.push('the search was given up: too many answers ran into the time limit')
  lines.push('', textTable([{ title: 'family' }, ...columns.slice(1)], families.map(row)), '')
  const none = aside.length === 0 ? 'No attack succeeded.' : "No attack in the answer's place succeeded."
  lines.push(told.length === 0 ? none : textTable(columns, told.map(row)))
  if (told.length < succeeded.length) lines.push(leftOut(succeeded.length - told.length))
  if (aside.length > 0) {
    const titles = [{ title: 'a right answer, contradicted outside its place' }, ...columns.slice(1)]
    lines.push('', textTable(titles, aside.slice(0, mostShown).map(row)))
    if (aside.length > mostShown) lines.push(leftOut(aside.length - mostShown))
  }
  if (rewrites.length > 0) lines.push('', ...refusalLines(rewrites, verbose))
  lines.push(...examples([...succeeded, ...aside], show), ...advice(failing))
  const misread = parsers.filter(({ readAsBest }) => readAsBest)
  if (parsers.length > 0)
    lines.push('', `faulty replies read as the best verdict: ${misread.length} of ${parsers.length}`)
  for (const { step, reply } of misread) lines.push(`  ${step}: ${reply}`)
  lines.push('', verdict(attacks, failing))
  return `${lines.join('\n')}\n`
}

const leftOut = (count: number): string => `... and ${count} more attacks (--verbose shows all)`

function refusalLines(rewrites: readonly Refusals[], verbose: boolean): readonly string[] {
  const told = rewrites.filter(({ successes }) => verbose || successes > 0)
  if (told.length === 0) {
    const tried = rewrites.reduce((total, { trials }) => total + trials, 0)
    return [`No rewrite of a right answer is refused (${tried} tried).`]
  }
  return [
    textTable(
      refusalColumns,
      told.map(({ name, successes, trials, low, high }) => [
        name,
        `${successes}/${trials}`,
        `${percent(low)} to ${percent(high)}`,
      ]),
    ),
    ...told.flatMap(({ name, example }) =>
      example === null
        ? []
        : [
            `  ${name}: row ${quoted(example.row)}, paid ${rounded(example.reward)} for ${quoted(tailOf(example.response))}`,
          ],
    ),
  ]
}

/** The end of a long response, where the answer stands. */
const tailOf = (response: string): string =>
  response.length > longestExample ? `…${response.slice(1 - longestExample)}` : response

/** A sentence for each family that fails, and how often. */
function advice({ attacks, refused }: Failing): readonly string[] {
  const counts = new Map<string, number>()
  for (const { name } of [...attacks, ...refused]) {
    const family = name.slice(0, name.indexOf('/'))
    counts.set(family, (counts.get(family) ?? 0) + 1)
  }
  const lines = [...counts.keys()].flatMap((family) => {
    const sentence = adviceFor(family)
    return sentence === null ? [] : [`  ${family}: ${sentence}`]
  })
  return lines.length === 0 ? [] : ['', 'what to change:', ...lines]
}

/** The result in one line. */
function verdict(attacks: readonly Finding[], failing: Failing): string {
  const told = new Set(failing.all)
  const outside = attacks.filter(
    ({ name, paidInFull }) => paidInFull > 0 && failing.outside.has(name) && !told.has(name),
  ).length
  const aside =
    outside === 1
      ? '1 contradicts a right answer outside its place and is paid (--strict fails on it)'
      : `${outside} contradict a right answer outside its place and are paid (--strict fails on them)`
  if (failing.all.length > 0) {
    const { full, other, refused, refusals, misread } = failing
    const { successes, trials } = refusals
    const parts = [
      failing.all.includes(unpaid) ? `${unpaid}.` : '',
      counted(full, 'attack is paid as much as a right answer', 'attacks are paid as much as a right answer'),
      counted(other, 'attack is paid too often', 'attacks are paid too often'),
      refused.length === 0
        ? ''
        : `${successes} of ${trials} rewritten right answers are refused: ${listed(refused.map(({ name }) => name))}.`,
      counted(
        misread,
        'faulty reply is read as the best verdict',
        'faulty replies are read as the best verdict',
      ),
      outside === 0 ? '' : `${aside}.`,
    ]
    return `FAILED: ${parts.filter(Boolean).join(' ')}`
  }
  const more = attacks.filter(({ successes, name }) => successes > 0 && !failing.outside.has(name)).length
  const rest = more === 0 ? '' : `; ${more} succeeded partly, or are accepted (--accept)`
  return `PASSED: none of ${attacks.length} attacks is paid as much as a right answer${rest}${outside === 0 ? '' : `; ${aside}`}`
}

/** A number of names with what they are; '' without names. */
const counted = (names: readonly string[], one: string, more: string): string =>
  names.length === 0 ? '' : `${names.length} ${names.length === 1 ? one : more}: ${listed(names)}.`

const mostListed = 8

/** Some names, and the families of the others with their numbers. */
function listed(names: readonly string[]): string {
  if (names.length <= 2 * mostListed) return names.join('; ')
  const families = new Map<string, number>()
  for (const name of names.slice(mostListed)) {
    const family = name.slice(0, name.indexOf('/'))
    families.set(family, (families.get(family) ?? 0) + 1)
  }
  const others = [...families].map(([family, count]) => `${family} (${count})`)
  return `${names.slice(0, mostListed).join('; ')}; and of ${others.join(', ')}`
}

const longestExample = 240

/** A successful text for each attack, so that you can see and fix the cause: all attacks with `show`, else one a family. */
function examples(told: readonly Finding[], show: boolean): string[] {
  const families = new Set<string>()
  const lines = told.flatMap(({ name, examples }) => {
    const family = name.slice(0, name.indexOf('/'))
    if (
      examples.length === 0 ||
      (!show && families.has(family) && families.size > 0 && told.length > mostShown)
    )
      return []
    families.add(family)
    return examples
      .slice(0, show ? examples.length : 1)
      .map(
        ({ row, response, reward }) =>
          `  ${name}: row ${quoted(row)}, paid ${rounded(reward)} for ${show ? escaped(response) : quoted(response)}`,
      )
  })
  return lines.length === 0 ? [] : ['', 'for example:', ...lines]
}

/** As JSON, with every control and formatting character escaped. */
const escaped = (text: string): string =>
  JSON.stringify(text).replace(
    /[\p{Cc}\p{Cf}\u2028\u2029]/gu,
    (char) => `\\u{${char.codePointAt(0)?.toString(16)}}`,
  )

const quoted = (text: string): string =>
  escaped(text.length > longestExample ? `${text.slice(0, longestExample)}…` : text)

const row = (finding: Finding): readonly string[] => [
  finding.name,
  `${finding.successes}/${finding.trials}`,
  `${percent(finding.low)} to ${percent(finding.high)}`,
  String(finding.paidInFull),
  rounded(finding.meanReward),
  Object.entries(finding.invalid)
    .map(([kind, count]) => `${count} ${kind}`)
    .join(', '),
]

const share = ({ successes, trials, low, high }: Rate): string =>
  `${successes}/${trials} (${percent(low)} to ${percent(high)})`

const percent = (value: number): string => `${Math.round(value * 1000) / 10} %`

const rounded = (value: number | null): string =>
  value === null ? '-' : String(Math.round(value * 1000) / 1000)

import { readAuditRows } from '../../workbench/audit/attack.ts'
import { audit } from '../../workbench/audit/audit.ts'
import { attacks } from '../../workbench/audit/catalogue/attacks.ts'
import { type Finding, type Findings, findingsOf, junit, type Rate } from '../../workbench/audit/findings.ts'
import { auditParsers, nameOfReply } from '../../workbench/audit/parsers.ts'
import { modelStepNames } from '../../workbench/dataset/samples.ts'
import { defineCommand } from '../command.ts'
import { configOptions, configsOf, functionOptions, rewardOf, withGateway } from '../gateway.ts'
import { file, flag, misused, number, oneOf, option, readWord, repeated, text, whole } from '../options.ts'
import { deliver, textTable } from '../output.ts'
import { progressLine } from '../progress.ts'

const against = ['judge', 'rule', 'cost'] as const

/** Exit code 1 if an attack or a faulty reply succeeded. */
export const command = defineCommand({
  name: 'audit',
  summary: 'attacks a reward and shows what it pays for bad answers',
  synopsis: ['CONFIG [--reward NAME] --input ROWS', '--function NAME [--options JSON] --input ROWS'],
  about: `Attacks a reward with ${attacks.length} kinds of answers, made from your rows, that try to earn without being good. Each row is one as
for 'score' with a right answer, either as extra_info.answer or as its response. near_miss (in extra_info, too) may hold
a wrong answer or a list of them. Judges are asked for real.

An attack succeeds if it is paid more than it has earned: more than an answer without content if it ignores the task,
more than a near miss if it holds a wrong answer. Every judge step also reads faulty replies of a judge; none of them
may pass for the best verdict.

The exit code is 1 if an attack is paid in full (as much as a right answer, on any row), if a faulty reply is read as the
best verdict, or if the success rate of an attack is above --fail-above.`,
  options: {
    reward: configOptions.reward,
    ...functionOptions,
    input: file('ROWS', 'the source rows for the attacks'),
    rows: whole('N', 'makes attacks from the first N rows', { low: 1, high: 100_000, or: 50 }),
    against: option(
      'KINDS',
      'kinds of attacks, separated by commas: on judges, on rules, on scoring time (default judge,rule,cost)',
      (given) => given.split(',').map((kind) => readWord(kind, against)),
      { suggests: against },
    ),
    'fail-above': number('RATE', 'the highest success rate of an attack, 0 to 1', { low: 0, high: 1 }),
    format: oneOf(['text', 'json', 'junit'], 'the form of the findings', { or: 'text' }),
    output: file('FILE', 'the file for the findings; standard output by default'),
    verbose: flag('shows every attack, not only those that succeeded'),
    accept: repeated(
      text('ATTACK', "an attack ('hedge/two answers') or a family ('hedge') to show without failing"),
    ),
  },
  positionals: 'files',
  async run({ values, positionals }, io) {
    const [config] = positionals
    if (!values.input || positionals.length > 1 || Boolean(config) === Boolean(values.function))
      throw misused('--input and one CONFIG or --function are needed', 'audit')
    const { input, format, against: kinds = against, rows: most, accept, verbose } = values
    const limit = values['fail-above'] ?? null
    const sources = { ...configsOf({ ...values, config }), functionFolders: values['reward-functions'] }
    return withGateway(sources, io, async (gateway) => {
      let [scored, share] = [0, 0]
      const progress = progressLine(io, { fraction: () => share, calls: () => 0, done: 0 })
      const reward = rewardOf(gateway, values.function ?? values.reward)
      const modelSteps = modelStepNames(gateway.reward(reward).steps)
      const rows = await readAuditRows(input, io.stdin, most, modelSteps)
      const audited = await audit(gateway, {
        reward,
        rows,
        signal: io.signal,
        attacks: attacks.filter(({ against }) => kinds.includes(against)),
        onProgress(count, total) {
          share = count / total
          progress.add(count - scored, 0)
          scored = count
        },
      })
      const [first] = rows
      const parsers = first && kinds.includes('judge') ? await auditParsers(gateway, reward, first) : []
      const findings = findingsOf(audited, parsers)
      progress.end()
      const failing = failingOf(findings, limit, accept)
      await deliver(written(format, findings, failing, verbose), values.output, io)
      return failing.size > 0 ? 1 : 0
    })
  },
})

/** The attacks and replies that make the command fail. */
function failingOf(
  { paysForNothing, attacks, parsers }: Findings,
  limit: number | null,
  accepted: readonly string[],
): ReadonlySet<string> {
  const went = attacks.filter(({ rate, paidInFull }) => paidInFull > 0 || (limit !== null && rate > limit))
  const misread = parsers.filter(({ readAsBest }) => readAsBest).map(nameOfReply)
  const isAccepted = (name: string) => accepted.some((one) => name === one || name.startsWith(`${one}/`))
  const failing = [...paysForNothing, ...went.map(({ name }) => name), ...misread]
  return new Set(failing.filter((name) => !isAccepted(name)))
}

function written(
  format: 'text' | 'json' | 'junit',
  findings: Findings,
  failing: ReadonlySet<string>,
  verbose: boolean,
): string {
  if (format === 'json')
    return `${JSON.stringify({ ...findings, passed: failing.size === 0, failing: [...failing] }, null, 2)}\n`
  if (format === 'junit') return junit(findings, (attack) => failing.has(attack))
  return auditText(findings, failing, verbose)
}

const columns = [
  { title: 'attack' },
  { title: 'paid too much', right: true },
  { title: '95 % interval', right: true },
  { title: 'in full', right: true },
  { title: 'mean reward', right: true },
  { title: 'invalid', right: true },
]

/**
 * The findings as a table for people. Shows all attacks with `verbose`, otherwise the families and the attacks that
 * succeeded.
 */
export function auditText(findings: Findings, failing: ReadonlySet<string>, verbose: boolean): string {
  const { reward, version, rows, right, near, means, families, attacks, parsers } = findings
  const told = attacks.filter(({ name, successes }) => verbose || successes > 0 || failing.has(name))
  const lines = [
    `${reward} (version ${version}), ${rows} rows`,
    `right answers: mean ${rounded(means.right)}, paid above the worst text ${share(right)}`,
    `near misses: mean ${rounded(means.near)}, paid below the right answer ${share(near)}`,
    `an answer that says nothing: mean ${rounded(means.nothing)}`,
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

/** The result in one line. */
function verdict(attacks: readonly Finding[], failing: ReadonlySet<string>): string {
  if (failing.size > 0) {
    const full = attacks.filter(({ name, paidInFull }) => paidInFull > 0 && failing.has(name)).length
    const lead =
      full === 0 ? '' : `${full} ${full === 1 ? 'attack is' : 'attacks are'} paid as much as a right answer: `
    return `FAILED: ${lead}${[...failing].join('; ')}`
  }
  const more = attacks.filter(({ successes }) => successes > 0).length
  const rest = more === 0 ? '' : `; ${more} succeeded partly, or are accepted (--accept)`
  return `PASSED: none of ${attacks.length} attacks is paid as much as a right answer${rest}`
}

const longestExample = 240

/** One successful text for each attack that succeeded, so that you can see and fix the cause. */
function examples(told: readonly Finding[]): string[] {
  const lines = told.flatMap(({ name, example }) =>
    example === null
      ? []
      : [
          `  ${name}: row ${quoted(example.row)}, paid ${rounded(example.reward)} for ${quoted(example.response)}`,
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

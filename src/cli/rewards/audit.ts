import { systemClock } from '../../core/clock.ts'
import { didYouMean } from '../../core/nearest-name.ts'
import { openObservedGateway } from '../../serving/observed-gateway.ts'
import { readAuditRows } from '../../workbench/audit/attack.ts'
import { audit } from '../../workbench/audit/audit.ts'
import { attacks } from '../../workbench/audit/catalogue/attacks.ts'
import { type Finding, type Findings, findingsOf, junit, type Rate } from '../../workbench/audit/findings.ts'
import { auditParsers, nameOfReply } from '../../workbench/audit/parsers.ts'
import { modelStepNames } from '../../workbench/dataset/samples.ts'
import {
  finiteNumber,
  flag,
  given,
  misused,
  oneOf,
  parsed,
  text,
  textOr,
  texts,
  wholeNumber,
} from '../arguments.ts'
import type { Command } from '../command.ts'
import { configsOf, functionOptions, rewardOf } from '../gateway.ts'
import { deliver, textTable } from '../output.ts'
import { tellWaiting } from '../parked-news.ts'
import { progressLine } from '../progress.ts'

const usage = `reward-gateway audit (CONFIG [--reward NAME] | --function NAME [--options JSON]) --input ROWS
                     [--rows N] [--against judge,rule,cost] [--fail-above RATE] [--format text|json|junit]
                     [--output FILE] [--verbose] [--accept ATTACK]... [--reward-functions DIR]

Attacks a reward with ${attacks.length} kinds of answers that try to earn without being good, made from your rows. Each row
is one as for 'score' with a right answer, as extra_info.answer or else as its response; near_miss (in extra_info, too) may
hold a wrong one, or a list of them.
An attack succeeds where it is paid more than it has earned: more than an answer without content where it ignores the
task, more than a near miss where it holds a wrong answer. Judges are asked for real.
Every judge step also reads faulty replies of a judge; none of them may pass for the best verdict.
The exit code is 1 where an attack is paid in full (as much as a right answer, on any row), where a faulty reply is the best
verdict, or where the success rate of an attack is above --fail-above (0 to 1).
--against    kinds of attacks: on judges, on rules, on the time that a reward takes
--rows N     makes attacks of the first N rows (50)
--accept     an attack ('hedge/two answers') or a family ('hedge') that may go through: it is told of and does not count`

const options = {
  reward: text,
  ...functionOptions,
  input: text,
  rows: textOr('50'),
  against: textOr('judge,rule,cost'),
  'fail-above': text,
  format: textOr('text'),
  output: text,
  verbose: flag,
  accept: texts,
} as const

const against = ['judge', 'rule', 'cost'] as const

/** Exit code 1 where an attack or a faulty reply went through. */
export const command: Command = {
  summary: 'attacks a reward and says what it pays for nothing',
  usage,
  async run(argv, io) {
    const { values, positionals } = parsed(argv, options, 'files')
    const [config] = positionals
    if (!values.input || positionals.length > 1 || Boolean(config) === Boolean(values.function))
      throw misused('--input and one CONFIG or --function are needed.', usage)
    const limit = given(values['fail-above'], (text) => finiteNumber('fail-above', text, [0, 1]))
    const write = writerOf(values.format, values.verbose)
    const kinds: readonly string[] = values.against.split(',').map((kind) => oneOf('against', kind, against))
    const most = wholeNumber('rows', values.rows, 1, 100_000)
    const news = tellWaiting(io, systemClock)
    const gateway = await openObservedGateway({
      ...configsOf({ ...values, config }),
      functionFolders: values['reward-functions'],
      env: io.env,
      events: { models: { parked: news.parked } },
    })
    try {
      let [scored, share] = [0, 0]
      const progress = progressLine(io, { fraction: () => share, calls: () => 0, done: 0 })
      const reward = rewardOf(gateway, values.function ?? values.reward)
      const modelSteps = modelStepNames(gateway.reward(reward).steps)
      const rows = await readAuditRows(values.input, io.stdin, most, modelSteps)
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
      const failing = failingOf(findings, limit, values.accept)
      await deliver(write(findings, failing), values.output, io)
      return failing.size > 0 ? 1 : 0
    } finally {
      news.end()
      await gateway.close(0)
    }
  },
}

/** The attacks and replies for which the command fails. */
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

type Writer = (findings: Findings, failing: ReadonlySet<string>) => string

function writerOf(format: string, verbose: boolean): Writer {
  if (format === 'json')
    return (findings, failing) =>
      `${JSON.stringify({ ...findings, passed: failing.size === 0, failing: [...failing] }, null, 2)}\n`
  if (format === 'junit') return (findings, failing) => junit(findings, (attack) => failing.has(attack))
  if (format === 'text') return (findings, failing) => auditText(findings, failing, verbose)
  throw misused(
    `--format ${format}: text, json or junit is needed${didYouMean(format, ['text', 'json', 'junit'])}`,
  )
}

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

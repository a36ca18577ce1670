import { readFile } from 'node:fs/promises'
import type { Gateway } from '../../scoring/gateway/gateway.ts'
import { type AuditRow, readAuditRows } from '../../workbench/audit/attack.ts'
import { type Audited, audit } from '../../workbench/audit/audit.ts'
import { casesOf, casesText, readCases, runCases } from '../../workbench/audit/cases.ts'
import { attacks } from '../../workbench/audit/catalogue/attacks.ts'
import { type Findings, findingsOf } from '../../workbench/audit/findings.ts'
import { auditParsers } from '../../workbench/audit/parsers.ts'
import { unreadable } from '../../workbench/dataset/files.ts'
import { defineCommand, type Io } from '../command.ts'
import { configOptions, configsOf, functionOptions, rewardOf, withGateway } from '../gateway.ts'
import { localData } from '../local-data.ts'
import {
  file,
  flag,
  misused,
  number,
  oneOf,
  option,
  readWord,
  repeated,
  seed,
  text,
  whole,
} from '../options.ts'
import { deliver } from '../output.ts'
import { progressLine } from '../progress.ts'
import { failingOf, isAccepted, ranText, written } from './audit-report.ts'

const against = ['judge', 'rule', 'cost'] as const
/** The texts of the search: enough for every pattern in some forms, within a minute. */
const ruleBudget = 6000
/** Each text is a call. */
const judgeBudget = 400
const mostRefused = 0.05

/** Exit code 1 if an attack or a faulty reply succeeded, or right answers are refused. */
export const command = defineCommand({
  name: 'audit',
  summary: 'attacks a reward and shows what it pays for bad answers',
  synopsis: [
    'CONFIG [--reward NAME] --input ROWS',
    '--function NAME [--options JSON] --input ROWS',
    'CONFIG --cases FILE',
  ],
  about: `Attacks a reward with ${attacks.length} kinds of answers, made from your rows, that try to earn without being good, and with a grammar
of attacks on the right and the wrong values of your rows: lists, denials, ranges, units, decoration, several places and
more, in each form that the reward pays, one and two at a time. It also rewrites your right answers without changing
their meaning: a reward should pay these. Each row is one as for 'score' with a right answer, either as
extra_info.answer or as its response. near_miss (in extra_info, too) may hold a wrong answer or a list of them. Judges
are asked for real.

An attack succeeds if it is paid more than it has earned: more than an answer without content if it ignores the task,
more than a near miss if it holds a wrong answer. Every judge step also reads faulty replies of a judge; none of them
may pass for the best verdict.

The exit code is 1 if an answer that ignores the task is paid in full (as much as a right answer, on any row), if a
faulty reply is read as the best verdict, if an attack is paid in full more often than --fail-above, or if more right
answers are refused than --refuse-above. Attacks that leave the right value alone in its place and contradict it
elsewhere are shown; they fail the audit with --strict.`,
  example: 'configs/quality.yaml --input rows.jsonl --show',
  options: {
    reward: configOptions.reward,
    ...functionOptions,
    input: file('ROWS', 'the source rows for the attacks'),
    rows: whole('N', 'makes attacks from the first N rows', { low: 1, high: 100_000, or: 50 }),
    against: option(
      'KINDS',
      'kinds of attacks, separated by commas: judge, rule, cost (scoring time); default: all',
      (given) => given.split(',').map((kind) => readWord(kind, against)),
      { suggests: against },
    ),
    budget: whole(
      'N',
      `the most texts to score: calls, if a judge reads them (default: the whole catalogue, and ${ruleBudget} texts of the grammar; ${judgeBudget} for a judge)`,
      { low: 10, high: 1_000_000 },
    ),
    seed: seed('draws the same texts again', { or: 1 }),
    'fail-above': number(
      'RATE',
      'the highest share of an attack that may be paid in full, and the highest success rate if it is given (default 0)',
      { low: 0, high: 1 },
    ),
    'refuse-above': number('RATE', 'the highest share of rewritten right answers that may be refused', {
      low: 0,
      high: 1,
      or: mostRefused,
    }),
    strict: flag('fails also if a right value is paid that the response contradicts outside its place'),
    show: flag('shows the texts in full, up to three for each attack'),
    format: oneOf(['text', 'json', 'junit'], 'the form of the findings', { or: 'text' }),
    output: file('FILE', 'the file for the findings; standard output by default'),
    'write-cases': file('FILE', 'writes what failed as cases for --cases and for ruleContract'),
    cases: file('FILE', 'scores the cases of an earlier audit instead of attacking'),
    verbose: flag('shows every attack, not only those that succeeded'),
    accept: repeated(
      text('ATTACK', "an attack ('hedge/two answers') or a family ('hedge') to show without failing"),
    ),
  },
  positionals: 'files',
  async run({ values, positionals }, io) {
    const [config] = positionals
    const { input, cases, format, rows: most, accept, strict } = values
    if (
      Boolean(input) === Boolean(cases) ||
      positionals.length > 1 ||
      Boolean(config) === Boolean(values.function)
    )
      throw misused('--input (or --cases) and one CONFIG or --function are needed', 'audit')
    const sources = { ...configsOf({ ...values, config }), functionFolders: values['reward-functions'] }
    return withGateway(sources, io, async (gateway) => {
      const reward = rewardOf(gateway, values.function ?? values.reward)
      if (cases !== undefined) {
        const content = await readFile(cases, 'utf8').catch((cause) => {
          throw unreadable(cases, cause)
        })
        const found = readCases(cases, content)
        const ran = await runCases(gateway, reward, found, io.signal)
        await deliver(
          format === 'json' ? `${JSON.stringify(ran, null, 2)}\n` : ranText(ran),
          values.output,
          io,
        )
        return ran.some(({ isBroken }) => isBroken) ? 1 : 0
      }
      const plan = gateway.reward(reward)
      const rows = await readAuditRows(await localData(input ?? '', io), io.stdin, most, plan)
      const { audited, findings } = await attacked(gateway, reward, rows, values, io)
      const failing = failingOf(findings, {
        accept,
        strict,
        limit: values['fail-above'] ?? null,
        refuse: values['refuse-above'],
      })
      await deliver(written(format, findings, failing, values), values.output, io)
      const file = values['write-cases']
      if (file !== undefined) {
        const isMeant = (name: string) => !isAccepted(name, accept) && (strict || !failing.outside.has(name))
        await deliver(casesText(casesOf(audited, rows, isMeant)), file, io)
      }
      return failing.all.length > 0 ? 1 : 0
    })
  },
})

interface AttackValues {
  readonly against?: readonly (typeof against)[number][] | undefined
  readonly budget?: number | undefined
  readonly seed: number
}

async function attacked(
  gateway: Gateway,
  reward: string,
  rows: readonly AuditRow[],
  { against: kinds = against, budget, seed }: AttackValues,
  io: Io,
): Promise<{ readonly audited: Audited; readonly findings: Findings }> {
  let [scored, share] = [0, 0]
  const progress = progressLine(io, { fraction: () => share, calls: () => 0, done: 0 })
  const isJudged = gateway.reward(reward).steps.some(({ ask }) => ask !== null)
  const searches = kinds.includes('rule') || (kinds.includes('judge') && isJudged)
  const audited = await audit(gateway, {
    reward,
    rows,
    signal: io.signal,
    attacks: attacks.filter(({ against }) => kinds.includes(against)),
    ...(budget !== undefined && { most: budget }),
    ...(searches && {
      search: {
        seed,
        budget: budget === undefined ? (isJudged ? judgeBudget : ruleBudget) : Math.ceil(budget / 2),
        kinds,
      },
    }),
    onProgress(count, total) {
      share = count / total
      progress.add(count - scored, 0)
      scored = count
    },
  })
  const [first] = rows
  const parsers = first && kinds.includes('judge') ? await auditParsers(gateway, reward, first) : []
  progress.end()
  return { audited, findings: findingsOf(audited, parsers) }
}

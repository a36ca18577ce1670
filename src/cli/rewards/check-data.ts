import { GatewayError } from '../../core/errors.ts'
import { didYouMean } from '../../core/nearest-name.ts'
import type { FunctionHost } from '../../scoring/functions/function-host.ts'
import type { Plan } from '../../scoring/plan/plan.ts'
import type { Resolved } from '../../scoring/plan/resolve.ts'
import type { Lengths } from '../../workbench/dataset/lengths.ts'
import { openRows } from '../../workbench/dataset/rows.ts'
import type { Finding } from '../../workbench/preflight/finding.ts'
import { openReward } from '../../workbench/preflight/opened-reward.ts'
import type { Report } from '../../workbench/preflight/preflight.ts'
import { type PreflightJob, preflight } from '../../workbench/preflight/preflight.ts'
import type { Probe, Sampled } from '../../workbench/preflight/signal-probe.ts'
import { openPolicy } from '../../workbench/rollout/policy.ts'
import type { Io } from '../command.ts'
import { localData } from '../local-data.ts'
import { misused } from '../options.ts'
import { textTable } from '../output.ts'
import { progressLine } from '../progress.ts'

/** The options of `check` about data. */
export interface DataSettings {
  readonly data: readonly string[]
  readonly reward: string | undefined
  readonly gold: string | undefined
  readonly rows: number | undefined
  readonly 'answer-tokens': number | undefined
  readonly policy: string | undefined
  readonly 'policy-model': string | undefined
  readonly 'policy-key-env': string | undefined
  readonly prompts: number
  readonly answers: number
  readonly temperature: number
  readonly 'max-tokens': number
  readonly seed: number
  readonly strict: boolean
  readonly format: 'text' | 'json'
}

/** Checks data against a reward. Exit code 1 if there is an error or, with `strict`, a warning. */
export async function checkData(
  resolved: Resolved,
  functions: FunctionHost,
  values: DataSettings,
  io: Io,
): Promise<number> {
  const plan = planOf(resolved, values.reward)
  const files: PreflightJob['files'][number][] = []
  for (const path of values.data)
    files.push({ path, source: await openRows(await localData(path, io), io.stdin) })
  const sampled = await sampledOf(values, io)
  const opened = openReward(resolved, plan, functions, io.env)
  const fractions = () => files.map(({ source }) => source.fraction() ?? 0)
  const progress = progressLine(io, {
    fraction: () => fractions().reduce((sum, part) => sum + part, 0) / files.length,
    calls: () => 0,
    done: 0,
  })
  try {
    const report = await preflight({
      opened,
      files,
      goldPath: values.gold ?? null,
      answerTokens: values['answer-tokens'] ?? null,
      maxRows: values.rows ?? Number.POSITIVE_INFINITY,
      sampled,
      probed: values.prompts,
      seed: values.seed,
      signal: io.signal,
      onProgress: (rows) => progress.add(rows, 0),
    })
    progress.end()
    io.stdout.write(values.format === 'json' ? `${JSON.stringify(report, null, 2)}\n` : reportText(report))
    const bad = values.strict ? ['error', 'warning'] : ['error']
    return report.findings.some(({ severity }) => bad.includes(severity)) ? 1 : 0
  } catch (error) {
    progress.end()
    if (!io.signal.aborted) throw error
    io.stderr.write('stopped\n')
    return 1
  } finally {
    await opened.close()
    await sampled?.policy.close()
  }
}

function planOf({ plans }: Resolved, named: string | undefined): Plan {
  const names = [...plans.keys()]
  const plan = plans.get(named ?? (names.length === 1 ? (names[0] ?? '') : ''))
  if (plan) return plan
  if (named !== undefined)
    throw new GatewayError('RG_REWARD_UNKNOWN', `no reward '${named}'${didYouMean(named, names)}`)
  throw misused(`the configs have ${names.length} rewards (${names.join(', ')}): choose one with --reward`)
}

/** Throws RG_COMMAND_INVALID, or RG_MODEL_FAILED if the policy's server does not name its model. */
async function sampledOf(values: DataSettings, io: Io): Promise<Sampled | null> {
  const { policy: url, 'policy-model': model = null, 'policy-key-env': apiKeyEnv } = values
  if (url === undefined) return null
  const { answers, temperature, 'max-tokens': maxTokens, seed } = values
  const policy = await openPolicy({
    urls: [url],
    model,
    backend: 'openai',
    concurrency: 64,
    timeoutS: 600,
    waitS: 10,
    ...(apiKeyEnv !== undefined && { apiKeyEnv }),
    env: io.env,
  })
  return { policy, answers, temperature, maxTokens, seed }
}

/** A report for people: findings first, then statistics. */
function reportText(report: Report): string {
  const { reward, files, rows, findings, levels, contents, lengths, questions, probe } = report
  const held = Object.entries(contents).map(([what, count]) => `${what} ${count}`)
  const parts = [
    ...questions.map(
      ({ row, step, model, text }) =>
        `── row ${row}, step ${step}: what ${model} would be asked\n${text.trimEnd()}\n──`,
    ),
    ...levelText(levels),
    ...(lengths ? [lengthText(lengths)] : []),
    ...(held.length > 0 ? [`rows with more than text: ${held.join(', ')}`] : []),
    ...(probe ? [probeText(probe)] : []),
    ...findings.map(findingText),
    `${rows} rows of ${files.join(', ')} for ${reward}: ${countsText(findings)}`,
  ]
  return `${parts.join('\n\n')}\n`
}

function findingText({ severity, name, message, advice, rows, count }: Finding): string {
  const more = count > rows.length ? ', ...' : ''
  const where =
    count === 0
      ? ''
      : rows.length === 0
        ? ` (${count} ${count === 1 ? 'row' : 'rows'})`
        : ` (${many(count)}: ${rows.join(', ')}${more})`
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
  good: 'good: there are right answers',
  format: 'format: the form is rewarded, but there are no right answers yet',
  weak: 'weak: almost nothing is rewarded',
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

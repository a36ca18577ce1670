import { join } from 'node:path'
import { GatewayError, type Problem } from '../../core/errors.ts'
import { makeFolder } from '../../core/make-folder.ts'
import type { Gateway } from '../../scoring/gateway/gateway.ts'
import { modelBackends } from '../../scoring/models/interface/model-config.ts'
import { compareAnswers } from '../../workbench/analysis/policy-comparison.ts'
import { answeredPrompts } from '../../workbench/analysis/prompt-figures.ts'
import { unwritable } from '../../workbench/dataset/files.ts'
import { evaluateFile } from '../../workbench/evaluation/evaluate-file.ts'
import type { EvaluationSettings } from '../../workbench/evaluation/evaluation.ts'
import {
  type BenchmarkSettings,
  benchmarkSettings,
  mergedSettings,
  readSuite,
  type Suite,
} from '../../workbench/evaluation/suite.ts'
import { evaluationTable } from '../../workbench/report/policy-tables.ts'
import type { Policy } from '../../workbench/rollout/policy.ts'
import { defineCommand, type Io } from '../command.ts'
import {
  type ConfigSources,
  configOptions,
  configsOf,
  functionOptions,
  rewardOf,
  withGateway,
} from '../gateway.ts'
import { localData } from '../local-data.ts'
import {
  file,
  flag,
  misused,
  number,
  type Option,
  oneOf,
  option,
  readWhole,
  repeated,
  text,
  type Values,
  whole,
} from '../options.ts'
import { tablesText } from '../output.ts'
import { evaluateProgress } from '../progress.ts'

/** Settings of a benchmark, by the option that sets each. */
const settings = {
  n: ['n', number('N', 'answers to each row in each run')],
  runs: ['runs', number('N', 'passes over the data set')],
  k: ['k', number('N', 'the k of pass@k and maj@k (default: answers of a run)')],
  limit: ['limit', number('N', 'answers at most this many rows')],
  'shuffle-seed': ['shuffle_seed', number('N', 'shuffles the rows before --limit is applied')],
  temperature: ['temperature', number('T', 'sampling temperature')],
  'top-p': ['top_p', number('P', 'samples from the most likely tokens that make up this probability')],
  'top-k': ['top_k', number('N', 'samples from this many of the most likely tokens (vllm, sglang)')],
  'min-p': [
    'min_p',
    number('P', 'the lowest probability of a token, as a share of the most likely one (vllm, sglang)'),
  ],
  'max-tokens': ['max_tokens', number('N', 'the maximum length of an answer, in tokens')],
  'solved-at': ['solved_at', number('N', 'a reward of N or more counts as a success (default 1)')],
  stop: ['stop', repeated(text('TEXT', 'ends an answer at this text'))],
  seed: [
    'seed',
    option('N|none', 'the seed of the sampling (default 0); none sends no seed to the servers', (given) =>
      given === 'none' ? given : readWhole(given, { low: 0, high: 0xffff_ffff }),
    ),
  ],
  chat: ['chat', flag('sends a plain prompt as a user message; lists of messages are always sent as a chat')],
  'keep-stop': [
    'include_stop_str_in_output',
    flag('leaves the text of --stop in the answer (vllm, sglang), for rewards that read tags'),
  ],
} as const satisfies Record<string, readonly [keyof BenchmarkSettings, Option<unknown>]>

const options = {
  data: file('FILE', 'the rows to answer: a file, or hf://OWNER/NAME/SPLIT'),
  suite: file('FILE', 'a suite of benchmarks, in place of --data and --reward'),
  ...configOptions,
  ...functionOptions,
  output: file('PATH', 'the scored file (.jsonl, .gz, .parquet), or with --suite a folder'),
  policy: repeated(
    text('URL', 'the URL of an OpenAI-compatible server; with several, each takes a share of the load'),
  ),
  model: text('NAME', 'the model to use, if the servers list several'),
  backend: oneOf(modelBackends, 'the API of the servers', { or: 'openai' }),
  'api-key-env': text('NAME', 'the environment variable that holds the API key of the servers'),
  concurrency: whole('N', 'concurrent answers per server', { low: 1, high: 65_536, or: 64 }),
  'timeout-s': number('SECONDS', 'the time limit for one answer', { low: 0, unit: 'seconds', or: 600 }),
  'wait-s': number('SECONDS', 'how long to wait while no server responds', {
    low: 0,
    unit: 'seconds',
    or: 30,
  }),
  resume: flag('continues an evaluation that was stopped or killed; no answer is sampled twice'),
  'failed-only': flag('samples and scores the rows without a reward in a finished OUTPUT again'),
  format: oneOf(['text', 'json'], 'the form of the figures', { or: 'text' }),
  n: settings.n[1],
  runs: settings.runs[1],
  k: settings.k[1],
  limit: settings.limit[1],
  'shuffle-seed': settings['shuffle-seed'][1],
  temperature: settings.temperature[1],
  'top-p': settings['top-p'][1],
  'top-k': settings['top-k'][1],
  'min-p': settings['min-p'][1],
  'max-tokens': settings['max-tokens'][1],
  'solved-at': settings['solved-at'][1],
  stop: settings.stop[1],
  seed: settings.seed[1],
  chat: settings.chat[1],
  'keep-stop': settings['keep-stop'][1],
}

/** Exit code 1 if it was stopped by a signal; --resume continues with the answers so far. */
export const command = defineCommand({
  name: 'evaluate',
  summary: 'lets a policy answer data sets and scores its answers',
  synopsis: [
    '--data FILE --reward NAME --output FILE --policy URL',
    '--data FILE --function NAME --output FILE --policy URL',
    '--suite FILE --output FOLDER --policy URL',
  ],
  about: `Lets a policy answer the rows of a data set, N times each in each run, and scores the answers with a reward. OUTPUT is a
scored file for analyze, diff and compare; OUTPUT.successes.jsonl and OUTPUT.failures.jsonl are written beside it. An
answer that the policy fails to give is invalid, never 0.`,
  example:
    '--data test.parquet --reward quality --config configs --policy http://127.0.0.1:8000 --n 4 --output step-100.jsonl',
  options,
  async run({ values }, io) {
    const given = checkedValues(values)
    const suite = given.suite === undefined ? null : readSuite(given.suite, io.env)
    const sources = { ...sourcesOf(given, suite), functionFolders: given['reward-functions'] }
    return withGateway(sources, io, (gateway) => evaluateAll(gateway, given, suite, io))
  },
})

/** The exit code: 1 if the run was stopped by a signal. */
async function evaluateAll(
  gateway: Gateway,
  given: EvaluateArguments,
  suite: Suite | null,
  io: Io,
): Promise<number> {
  const benchmarks = suite
    ? suite
        .benchmarks(gateway, given.over)
        .map((one) => ({ one, output: join(given.output, `${one.name}.jsonl`) }))
    : [{ one: single(gateway, given), output: given.output }]
  const { openPolicy } = await import('../../workbench/rollout/policy.ts')
  const policy = await openPolicy({
    urls: given.policy,
    model: given.model ?? null,
    backend: given.backend,
    concurrency: given.concurrency,
    timeoutS: given['timeout-s'],
    waitS: given['wait-s'],
    ...(given['api-key-env'] !== undefined && { apiKeyEnv: given['api-key-env'] }),
    env: io.env,
  })
  try {
    if (suite) await makeFolder(given.output).catch(unwritable)
    for (const { one, output } of benchmarks) {
      if (!(await evaluated({ gateway, policy, one, output, given }, io))) return 1
    }
  } finally {
    await policy.close()
  }
  await tell(benchmarks, given.format, io)
  return 0
}

/** A suite that uses only functions needs no configs, and no models of configs. */
function sourcesOf(given: EvaluateArguments, suite: Suite | null): ConfigSources {
  const config = given.config ?? suite?.config ?? undefined
  if (!suite) return configsOf(given)
  const { configs } = suite.usesConfigs || config ? configsOf({ config }) : { configs: [] }
  return { configs, inline: suite.inline }
}

function single(
  gateway: Gateway,
  { data = '', function: name, reward: named, over }: EvaluateArguments,
): EvaluationSettings {
  const reward = rewardOf(gateway, name ?? named)
  const one = mergedSettings({ name: reward, place: 0, data, reward }, over)
  if (one.k <= one.n * one.runs) return one
  throw new GatewayError('RG_COMMAND_INVALID', `--k ${one.k}: a row gets ${one.n * one.runs} answers`)
}

/** Writes the figures of every benchmark to standard output. */
async function tell(
  benchmarks: readonly { readonly one: EvaluationSettings; readonly output: string }[],
  format: 'text' | 'json',
  io: Io,
): Promise<void> {
  const answers = await Promise.all(
    benchmarks.map(async ({ one, output }) => ({
      benchmark: one.name,
      prompts: await answeredPrompts(output, io.stdin),
    })),
  )
  const settingsOf = (name: string) => benchmarks.find(({ one }) => one.name === name)?.one
  const parts = compareAnswers([answers], {
    kOf: (name) => settingsOf(name)?.k ?? 1,
    solvedAtOf: (name) => settingsOf(name)?.solvedAt ?? 1,
    rounds: 2000,
    seed: 0,
  })
  io.stdout.write(
    format === 'json' ? `${JSON.stringify({ parts }, null, 2)}\n` : tablesText([evaluationTable(parts)]),
  )
  const invalid = parts.flatMap(({ source, policies }) => (source === null ? policies : []))
  if (invalid.some((policy) => policy.invalid > 0))
    io.stderr.write('some answers have no reward: --failed-only samples and scores them again\n')
}

interface Work {
  readonly gateway: Gateway
  readonly policy: Policy
  readonly one: EvaluationSettings
  readonly output: string
  readonly given: EvaluateArguments
}

/** False if the run was stopped by a signal. */
async function evaluated({ gateway, policy, one, output, given }: Work, io: Io): Promise<boolean> {
  const events = evaluateProgress(io, one.name)
  const { resume, 'failed-only': failedOnly } = given
  const { stdin, signal } = io
  try {
    const data = await localData(one.data, io)
    await evaluateFile({ ...one, data, gateway, policy, output, resume, failedOnly, stdin, signal, events })
    return true
  } catch (error) {
    if (!signal.aborted) throw error
    io.stderr.write(`stopped; the answers so far are beside ${output}, and --resume continues with them\n`)
    return false
  } finally {
    events.end()
  }
}

/** Checks the options that depend on each other, and collects the settings that override a suite's. */
function checkedValues(values: Values<typeof options>) {
  const { data, suite, output, policy, backend } = values
  const isOne = Boolean(data) !== Boolean(suite)
  if (!isOne || !output || policy.length === 0)
    throw misused('--policy, --output and one of --data and --suite are needed', 'evaluate')
  if (suite && (values.reward || values.function))
    throw misused('a suite names its rewards: leave --reward and --function out')
  if (values.config && values.function) throw misused('give one of --config and --function')
  const over = settingsOf(values)
  if (backend === 'openai' && (over.top_k !== undefined || over.min_p !== undefined))
    throw misused('--top-k and --min-p need --backend vllm or sglang')
  return { ...values, output, over }
}

type EvaluateArguments = ReturnType<typeof checkedValues>

function settingsOf(values: Values<typeof options>): BenchmarkSettings {
  // The suite or the defaults decide about absent options.
  const given = Object.entries(settings).flatMap(([option, [setting]]) => {
    const value = values[option as keyof typeof settings]
    const isGiven = value !== undefined && value !== false && !(Array.isArray(value) && value.length === 0)
    return isGiven ? [[setting, value] as const] : []
  })
  const read = benchmarkSettings.safeParse(Object.fromEntries(given))
  if (read.success) return read.data
  const problems: Problem[] = read.error.issues.map(({ path, message }) => ({
    path: `--${path.join('.').replaceAll('_', '-')}`,
    message,
  }))
  throw new GatewayError('RG_COMMAND_INVALID', 'evaluate cannot start', { problems })
}

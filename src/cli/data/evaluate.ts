import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { systemClock } from '../../core/clock.ts'
import { GatewayError, type Problem } from '../../core/errors.ts'
import type { Gateway } from '../../scoring/gateway/gateway.ts'
import { openObservedGateway } from '../../serving/observed-gateway.ts'
import { compareAnswers } from '../../workbench/analysis/policy-comparison.ts'
import { answeredPrompts } from '../../workbench/analysis/prompt-figures.ts'
import { evaluateFile } from '../../workbench/evaluation/evaluate-file.ts'
import type { EvaluationSettings } from '../../workbench/evaluation/evaluation.ts'
import {
  type BenchmarkSettings,
  benchmarkSettings,
  readSuite,
  type Suite,
  settled,
} from '../../workbench/evaluation/suite.ts'
import { evaluationTable } from '../../workbench/report/policy-tables.ts'
import { openPolicy, type Policy } from '../../workbench/rollout/policy.ts'
import {
  finiteNumber,
  flag,
  misused,
  oneOf,
  parsed,
  seedNumber,
  text,
  textOr,
  texts,
  textsOf,
  wholeNumber,
} from '../arguments.ts'
import type { Command, Io } from '../command.ts'
import { type ConfigSources, configsOf, functionOptions, rewardOf } from '../gateway.ts'
import { tablesText } from '../output.ts'
import { tellWaiting } from '../parked-news.ts'
import { evaluateProgress } from './evaluate-progress.ts'

const usage = `reward-gateway evaluate (--data FILE --reward NAME --output FILE | --suite FILE --output FOLDER) --policy URL...
                        [--config FILE | --function NAME [--options JSON]] [--reward-functions DIR] [--model NAME]
                        [--n N] [--runs N] [--k N] [--temperature T] [--top-p P] [--top-k N] [--min-p P]
                        [--max-tokens N] [--stop TEXT]... [--keep-stop] [--seed N|none] [--chat] [--limit N] [--shuffle-seed N]
                        [--solved-at N] [--resume | --failed-only] [--backend openai|vllm|sglang]
                        [--concurrency N] [--timeout-s N] [--wait-s N] [--api-key-env NAME] [--format text|json]

Lets a policy answer the rows of a data set, N times each in each run, and scores the answers with a reward. OUTPUT is a
scored file (.jsonl, .gz, .parquet) for analyze, diff and compare; beside it lie OUTPUT's .successes.jsonl and
.failures.jsonl. An answer that the policy did not give is invalid, never 0.

--policy       the address of an OpenAI-compatible server; several share the load. --model: what they serve, if not one
--resume       goes on with an evaluation that was stopped or killed; no answer is sampled twice
--failed-only  goes over a finished OUTPUT: samples and scores again what has no reward
--stop         ends an answer; --keep-stop leaves it in the text (vLLM and SGLang), as a reward that reads tags needs
--chat         sends a plain prompt as a user's message; messages are sent as a chat in any case
--concurrency  answers under way at one server (default 64); --timeout-s: for one answer (600); --wait-s: for a server
               that lives, where none does (30)
--solved-at    a reward of so much is a success (default 1); --k: the k of pass@k and maj@k (default N)
--seed         makes the draws repeatable (default 0); none: the servers draw as they like`

/** Exit code 1 where it was asked to end; what is there can be gone on with. */
export const command: Command = {
  summary: 'lets a policy answer data sets and scores its answers',
  usage,
  async run(argv, io) {
    const given = readEvaluateArguments(argv, usage)
    const suite = given.suite === undefined ? null : readSuite(given.suite, io.env)
    const news = tellWaiting(io, systemClock)
    const gateway = await openObservedGateway({
      ...sourcesOf(given, suite),
      functionFolders: given['reward-functions'],
      env: io.env,
      events: { models: { parked: news.parked } },
    })
    try {
      const benchmarks = suite
        ? suite
            .benchmarks(gateway, given.over)
            .map((one) => ({ one, output: join(given.output, `${one.name}.jsonl`) }))
        : [{ one: single(gateway, given), output: given.output }]
      const policy = await openPolicy({
        urls: given.policy,
        model: given.model ?? null,
        backend: given.backend,
        concurrency: given.concurrency,
        timeoutS: given.timeoutS,
        waitS: given.waitS,
        ...(given['api-key-env'] !== undefined && { apiKeyEnv: given['api-key-env'] }),
        env: io.env,
      })
      try {
        if (suite) await mkdir(given.output, { recursive: true })
        for (const { one, output } of benchmarks) {
          if (!(await evaluated({ gateway, policy, one, output, given }, io))) return 1
        }
      } finally {
        await policy.close()
      }
      await tell(benchmarks, given.format, io)
      return 0
    } finally {
      news.end()
      await gateway.close(0)
    }
  },
}

/** A suite of functions alone needs no configs, nor the models that they name. */
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
  const one = settled({ name: reward, place: 0, data, reward }, over)
  if (one.k <= one.n * one.runs) return one
  throw new GatewayError('RG_COMMAND_INVALID', `--k ${one.k}: a row gets ${one.n * one.runs} answers`)
}

/** The figures of all that was evaluated, on standard output. */
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

/** False where the run was asked to end. */
async function evaluated({ gateway, policy, one, output, given }: Work, io: Io): Promise<boolean> {
  const events = evaluateProgress(io, one.name)
  const { resume, 'failed-only': failedOnly } = given
  const { stdin, signal } = io
  try {
    await evaluateFile({ ...one, gateway, policy, output, resume, failedOnly, stdin, signal, events })
    return true
  } catch (error) {
    if (!signal.aborted) throw error
    io.stderr.write(`stopped; what is there lies beside ${output}, and --resume goes on with it\n`)
    return false
  } finally {
    events.end()
  }
}

/** Option -> setting of a benchmark. */
const numbers = {
  n: 'n',
  runs: 'runs',
  k: 'k',
  limit: 'limit',
  'shuffle-seed': 'shuffle_seed',
  temperature: 'temperature',
  'top-p': 'top_p',
  'top-k': 'top_k',
  'min-p': 'min_p',
  'max-tokens': 'max_tokens',
  'solved-at': 'solved_at',
} as const satisfies Record<string, keyof BenchmarkSettings>

const options = {
  ...textsOf(numbers),
  data: text,
  suite: text,
  reward: text,
  config: text,
  ...functionOptions,
  policy: texts,
  model: text,
  backend: textOr('openai'),
  'api-key-env': text,
  concurrency: textOr('64'),
  'timeout-s': textOr('600'),
  'wait-s': textOr('30'),
  stop: { type: 'string', multiple: true },
  'keep-stop': flag,
  seed: text,
  chat: flag,
  output: text,
  resume: flag,
  'failed-only': flag,
  format: textOr('text'),
} as const

/** What `evaluate` was asked for, checked. */
export function readEvaluateArguments(argv: readonly string[], usage: string) {
  const { values } = parsed(argv, options)
  const { data, suite, output, policy } = values
  const isOne = Boolean(data) !== Boolean(suite)
  if (!isOne || !output || policy.length === 0) {
    throw misused('--policy, --output and one of --data and --suite are needed.', usage)
  }
  if (suite && (values.reward || values.function))
    throw misused('a suite names its rewards: leave --reward and --function out')
  if (values.config && values.function) throw misused('give one of --config and --function')
  const backend = oneOf('backend', values.backend, ['openai', 'vllm', 'sglang'])
  const over = settingsOf(values)
  if (backend === 'openai' && (over.top_k !== undefined || over.min_p !== undefined))
    throw misused('--top-k and --min-p need --backend vllm or sglang')
  return {
    ...values,
    output,
    over,
    backend,
    concurrency: wholeNumber('concurrency', values.concurrency, 1, 65_536),
    timeoutS: finiteNumber('timeout-s', values['timeout-s']),
    waitS: finiteNumber('wait-s', values['wait-s']),
    format: oneOf('format', values.format, ['text', 'json']),
  }
}

/** The options, with what was checked in place of its text. */
export type EvaluateArguments = ReturnType<typeof readEvaluateArguments>

function settingsOf(values: Readonly<Record<string, unknown>>): BenchmarkSettings {
  const given: Record<string, unknown> = {}
  for (const [option, setting] of Object.entries(numbers)) {
    const value = values[option]
    if (typeof value === 'string') given[setting] = finiteNumber(option, value)
  }
  if (values.stop !== undefined) given.stop = values.stop
  if (typeof values.seed === 'string') given.seed = values.seed === 'none' ? 'none' : seedNumber(values.seed)
  if (values.chat === true) given.chat = true
  if (values['keep-stop'] === true) given.include_stop_str_in_output = true
  const read = benchmarkSettings.safeParse(given)
  if (read.success) return read.data
  const problems: Problem[] = read.error.issues.map(({ path, message }) => ({
    path: `--${path.join('.').replaceAll('_', '-')}`,
    message,
  }))
  throw new GatewayError('RG_COMMAND_INVALID', 'evaluate cannot start', { problems })
}

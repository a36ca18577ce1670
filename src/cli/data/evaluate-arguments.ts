import { GatewayError, type Problem } from '../../core/errors.ts'
import { type BenchmarkSettings, benchmarkSettings } from '../../workbench/evaluation/benchmark-settings.ts'
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
import { functionOptions } from '../gateway.ts'

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

import { GatewayError, type Problem } from '../errors.ts'
import { type BenchmarkSettings, benchmarkSettings } from '../evaluation/benchmark-settings.ts'
import { finiteNumber, oneOf, parsed, wholeNumber } from './arguments.ts'

const text = { type: 'string' } as const
const flag = { type: 'boolean', default: false } as const

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
  ...(Object.fromEntries(Object.keys(numbers).map((name) => [name, text])) as Record<
    keyof typeof numbers,
    typeof text
  >),
  data: text,
  suite: text,
  reward: text,
  config: text,
  function: text,
  options: { type: 'string', default: '{}' },
  'reward-functions': { type: 'string', multiple: true, default: [] as string[] },
  policy: { type: 'string', multiple: true, default: [] as string[] },
  model: text,
  backend: { type: 'string', default: 'openai' },
  'api-key-env': text,
  concurrency: { type: 'string', default: '64' },
  'timeout-s': { type: 'string', default: '600' },
  'wait-s': { type: 'string', default: '30' },
  stop: { type: 'string', multiple: true },
  'keep-stop': flag,
  seed: text,
  chat: flag,
  output: text,
  resume: flag,
  'failed-only': flag,
  format: { type: 'string', default: 'text' },
} as const

/** What `evaluate` was asked for, checked. */
export function readEvaluateArguments(argv: readonly string[], usage: string) {
  const { values } = parsed({ args: [...argv], options })
  const { data, suite, output, policy } = values
  const isOne = Boolean(data) !== Boolean(suite)
  if (!isOne || !output || policy.length === 0) {
    throw new GatewayError(
      'RG_COMMAND_INVALID',
      `--policy, --output and one of --data and --suite are needed.\n${usage}`,
    )
  }
  if (suite && (values.reward || values.function))
    throw new GatewayError(
      'RG_COMMAND_INVALID',
      'a suite names its rewards: leave --reward and --function out',
    )
  if (values.config && values.function)
    throw new GatewayError('RG_COMMAND_INVALID', 'give one of --config and --function')
  const backend = oneOf('backend', values.backend, ['openai', 'vllm', 'sglang'])
  const over = settingsOf(values)
  if (backend === 'openai' && (over.top_k !== undefined || over.min_p !== undefined))
    throw new GatewayError('RG_COMMAND_INVALID', '--top-k and --min-p need --backend vllm or sglang')
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

export type EvaluateArguments = ReturnType<typeof readEvaluateArguments>

function settingsOf(values: Readonly<Record<string, unknown>>): BenchmarkSettings {
  const given: Record<string, unknown> = {}
  for (const [option, setting] of Object.entries(numbers)) {
    const value = values[option]
    if (typeof value === 'string') given[setting] = finiteNumber(option, value)
  }
  if (values.stop !== undefined) given.stop = values.stop
  if (typeof values.seed === 'string')
    given.seed = values.seed === 'none' ? 'none' : wholeNumber('seed', values.seed, 0, 0xffff_ffff)
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

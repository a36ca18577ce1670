import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { reasonOf } from '../../core/system-error.ts'
import {
  allFaultKinds,
  type InjectedFault,
  policyNames,
  type Restart,
  readFaults,
  readScript,
  runners,
  type ScriptedRun,
  startSimulatedServers,
} from '../../simulator/index.ts'
import type { SimulatedServerOptions } from '../../simulator/options.ts'
import { defineCommand, wrapped } from '../command.ts'
import {
  BadValue,
  flag,
  number,
  oneOf,
  option,
  readNumber,
  readWord,
  repeated,
  text,
  type Values,
  whole,
} from '../options.ts'
import { cannotListen } from './listening.ts'

/** The options of `simulate`. */
export const simulateOptions = {
  host: text('HOST', 'the address to listen at', { or: '127.0.0.1' }),
  port: whole('PORT', 'the first of consecutive ports; 0 selects free ones', { high: 65_535, or: 0 }),
  count: whole('N', 'how many servers', { low: 1, high: 1000, or: 1 }),
  model: text('NAME', 'the name of the served model', { or: 'simulated-judge' }),
  runner: oneOf(runners, 'serves only these endpoints; all by default'),
  engine: oneOf(['vllm', 'sglang'], "serves only this server's endpoints and metrics; both by default"),
  policy: oneOf(
    policyNames,
    'how it judges: reference (the default), arithmetic, gullible, constant or solver',
    {
      value: 'NAME',
    },
  ),
  answers: option(
    'FILE',
    'right answers: JSON {"piece of the question": answer}, or JSON lines of samples',
    readAnswers,
    {
      suggests: 'files',
    },
  ),
  programs: option(
    'FILE',
    'what programs print on /run_code: JSON [{"program": piece, "stdin": text, "stdout": text, ...}]',
    readPrograms,
    { suggests: 'files' },
  ),
  constant: option(
    'VALUE',
    "the constant policy's verdict, 0 to 1 (a chat says 0 or 1), or its whole reply",
    readConstant,
  ),
  'success-rate': number('RATE', "the solver's share of right answers (default 0.5)", { low: 0, high: 1 }),
  'wrong-rate': number('RATE', 'the share of verdicts that are reversed (default 0)', { low: 0, high: 1 }),
  undecided: number('SCORE', 'the verdict if a policy has no basis for one (default 0)', { low: 0, high: 1 }),
  seed: text('SEED', 'the seed of all random draws (default 0)'),
  'latency-median-ms': number(
    'MS',
    'the median of a log-normal latency; 0, the default, answers immediately',
    {
      low: 0,
      high: 1e9,
      unit: 'milliseconds',
    },
  ),
  'latency-sigma': number('SIGMA', "the spread of the latency's logarithm (default 0)", { low: 0, high: 10 }),
  speed: number('FACTOR', '0.2 is five times slower (default 1)', { low: 1e-6, high: 1e6 }),
  'max-num-seqs': number('N', 'concurrent sequences (default 256)', { low: 1, high: 1e6 }),
  'max-model-len': number('TOKENS', 'the context length of the model (default 32768)', { low: 1, high: 1e9 }),
  'prefix-cache-blocks': number(
    'N',
    'blocks of 16 tokens that the prefix cache holds (default 8192); 0: none',
    { low: 0, high: 1e7 },
  ),
  'prefill-ms-per-token': number('MS', 'time per prompt token that is not cached (default 0)', {
    low: 0,
    high: 1e6,
    unit: 'milliseconds',
  }),
  'prefill-tokens-per-s': number(
    'N',
    'reads prompts one after another at this rate; immediately by default',
    {
      low: 1e-3,
      high: 1e9,
    },
  ),
  'decode-ms-per-token': number('MS', 'time per output token (default 0)', {
    low: 0,
    high: 1e6,
    unit: 'milliseconds',
  }),
  'sleep-ms': number('MS', 'the time that sleep and wake-up take (default 0)', {
    low: 0,
    high: 1e9,
    unit: 'milliseconds',
  }),
  'without-memory-saver': flag('SGLang: a release frees nothing'),
  'enable-weights-cpu-backup': flag('SGLang: weights survive a release; without it they come back as zeros'),
  'without-health-generation': flag('SGLang: /health does not ask the model'),
  dimensions: number('N', 'the length of an embedding (default 256)', { low: 1, high: 1e5 }),
  thinking: flag('thinks before it answers'),
  'reasoning-parser': flag('returns thoughts in reasoning_content'),
  fault: repeated(option('FAULT', 'injects a fault, see above', readFault, { suggests: allFaultKinds })),
  restart: repeated(
    option(
      'AFTER[:DOWN[:LOADING]]',
      'seconds until a server goes away, refuses connections, and loads',
      readRestart,
    ),
  ),
  control: flag(
    'serves /simulate/faults, /simulate/restart, /simulate/kill, /simulate/stats and /simulate/state',
  ),
  'control-port': whole(
    'PORT',
    'serves those on a separate port, which stays open while the server is down; the first of --count',
    { low: 1, high: 65_535 },
  ),
}

/** Exit code 0 after a signal, once all servers are closed. */
export const command = defineCommand({
  name: 'simulate',
  summary: 'starts simulated model servers: judges without a GPU, with scripted latency and faults',
  synopsis: [''],
  about: `Starts simulated model servers that speak the APIs of vLLM, SGLang and SandboxFusion, prints a line \`MODEL URL\` for each, and serves until
it is stopped. They need no GPU and no weights: a scripted policy judges.

A fault is KIND[:RATE][@PATH]: its rate is 0 to 1, and it affects paths that begin with PATH. KIND is one of
${wrapped(allFaultKinds.join(', '), 110).join('\n')}.
As JSON, a fault can have more settings: '{"kind": "hang", "afterMs": 5000, "forMs": 60000, "recovery": "answer"}'`,
  example: '--port 8101 --count 2 --model judge-a --latency-median-ms 300',
  options: simulateOptions,
  async run({ values }, io) {
    const servers = await startSimulatedServers(values.count, serverOptions(values)).catch((cause) => {
      throw cannotListen(cause, values)
    })
    for (const { url } of servers) io.stdout.write(`${values.model} ${url}\n`)
    if (!io.signal.aborted) await once(io.signal, 'abort')
    await Promise.all(servers.map((server) => server.close()))
    return 0
  },
})

/** `without-*` and `enable-*` are settings of SGLang. The others are the server's settings in kebab case. */
function serverOptions({
  'without-memory-saver': withoutMemorySaver,
  'enable-weights-cpu-backup': enableWeightsCpuBackup,
  'without-health-generation': withoutHealthGeneration,
  fault: faults,
  restart: restarts,
  count: _count,
  ...values
}: Values<typeof simulateOptions>): SimulatedServerOptions {
  const settings = Object.entries(values).flatMap(([name, value]) =>
    value === undefined
      ? []
      : [[name.replace(/-(\w)/g, (_dash, letter: string) => letter.toUpperCase()), value]],
  )
  return {
    ...Object.fromEntries(settings),
    faults,
    restarts,
    sglang: {
      enableMemorySaver: !withoutMemorySaver,
      enableWeightsCpuBackup,
      healthGeneration: !withoutHealthGeneration,
    },
  }
}

/** `KIND`, `KIND:RATE`, `KIND@/path`, `KIND:RATE@/path`, or a fault in the JSON form of POST /simulate/faults. */
function readFault(given: string): InjectedFault {
  if (given.startsWith('{')) {
    try {
      const [fault] = readFaults([JSON.parse(given)])
      if (fault) return fault
    } catch (error) {
      throw new BadValue(reasonOf(error))
    }
    throw new BadValue(`'${given}' is not a fault`)
  }
  const at = given.indexOf('@')
  const [kind = '', rate] = (at < 0 ? given : given.slice(0, at)).split(':')
  return {
    kind: readWord(kind, allFaultKinds),
    ...(rate !== undefined && { rate: readNumber(rate, { low: 0, high: 1 }) }),
    ...(at >= 0 && { path: given.slice(at + 1) }),
  }
}

/** `AFTER:DOWN:LOADING` in seconds. */
function readRestart(given: string): Restart & { readonly afterMs: number } {
  const [after = '', down = '0', loading = '0'] = given.split(':')
  const ms = (part: string): number => 1000 * readNumber(part, { low: 0, high: 1e6 }, 'seconds')
  return { afterMs: ms(after), downMs: ms(down), loadingMs: ms(loading) }
}

/** A number is a verdict. Any other text is the whole reply. */
function readConstant(given: string): number | string {
  const value = given.trim() === '' ? Number.NaN : Number(given)
  return value >= 0 && value <= 1 ? value : given
}

function readPrograms(file: string): ScriptedRun[] {
  try {
    return readScript(JSON.parse(readFileSync(file, 'utf8')))
  } catch (error) {
    throw new BadValue(`${file}: ${reasonOf(error)}`)
  }
}

type Row = Readonly<Record<string, unknown>>

function readAnswers(file: string): Record<string, string | number> {
  try {
    const content = readFileSync(file, 'utf8')
    const entries = file.endsWith('.jsonl')
      ? content
          .split('\n')
          .filter((line) => line.trim() !== '')
          .map((line) => answerOf(JSON.parse(line) as Row))
      : Object.entries(JSON.parse(content) as Row)
    return Object.fromEntries(entries.map(([question, answer]) => [question, String(answer)]))
  } catch (error) {
    throw new BadValue(`${file}: ${reasonOf(error)}`)
  }
}

/** The question (the last user turn) and the ground truth of a sample or of a row in verl's format. */
function answerOf({ prompt, ground_truth, reward_model }: Row): readonly [string, unknown] {
  const truth = ground_truth ?? (reward_model as Row | undefined)?.ground_truth
  if (!Array.isArray(prompt)) return [String(prompt), truth]
  const user = (prompt as readonly Row[]).findLast(({ role }) => role === 'user')
  return [String(user?.content ?? ''), truth]
}

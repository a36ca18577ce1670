import { once } from 'node:events'
import { createReadStream, createWriteStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { GatewayError } from '../errors.ts'
import { type Gateway, openGateway } from '../gateway/gateway.ts'
import type { Sample, Unreadable } from '../sample/sample.ts'
import { parseJsonText } from '../wire/json-text.ts'
import { writeNativeResult } from '../wire/native-result.ts'
import { readNativeSample } from '../wire/native-sample.ts'
import { parsed, wholeNumber } from './arguments.ts'
import type { Command, Io } from './command.ts'
import { configsOf } from './configs.ts'
import { progressLine } from './progress.ts'

const usage = `reward-gateway score (--config FILE [--reward NAME] | --function NAME [--options JSON])
                     --input FILE.jsonl --output FILE.jsonl [--reward-functions DIR] [--batch N]

Scores a file without a server: one result a line, in the order of the input, in the shape of /v1/score's results.
'-' is standard input or output. With --function the only step is called like the function and 'reward' is its score.`

export const command: Command = {
  summary: 'scores a file of samples without a server',
  usage,
  async run(argv, io) {
    const { values } = parsed({
      args: [...argv],
      options: {
        config: { type: 'string' },
        reward: { type: 'string' },
        function: { type: 'string' },
        options: { type: 'string', default: '{}' },
        input: { type: 'string' },
        output: { type: 'string' },
        'reward-functions': { type: 'string', multiple: true, default: [] },
        batch: { type: 'string', default: '512' },
      },
    })
    const { input, output } = values
    if (!input || !output || Boolean(values.config) === Boolean(values.function)) {
      throw new GatewayError(
        'RG_COMMAND_INVALID',
        `--input, --output and one of --config and --function are needed.\n${usage}`,
      )
    }
    const gateway = await openGateway({
      ...configsOf(values),
      functionFolders: values['reward-functions'],
      env: io.env,
    })
    try {
      const reward = rewardOf(gateway, values.function ?? values.reward)
      return await scoreFile(
        gateway,
        reward,
        input,
        output,
        wholeNumber('batch', values.batch, 1, 100_000),
        io,
      )
    } finally {
      await gateway.close(0)
    }
  },
}

function rewardOf(gateway: Gateway, named: string | undefined): string {
  if (named) return gateway.reward(named).name
  const names = gateway.rewards().map(({ name }) => name)
  if (names.length === 1 && names[0]) return names[0]
  throw new GatewayError(
    'RG_COMMAND_INVALID',
    `the config holds ${names.length} rewards (${names.join(', ')}): choose one with --reward`,
  )
}

const batchesInFlight = 4

async function scoreFile(
  gateway: Gateway,
  reward: string,
  input: string,
  output: string,
  batchSize: number,
  io: Io,
): Promise<number> {
  const source = input === '-' ? io.stdin : createReadStream(input)
  const target = output === '-' ? io.stdout : createWriteStream(output)
  await opened(source, target)
  const progress = progressLine(io)
  const under: Promise<string>[] = []
  let invalid = 0
  const scoreBatch = async (rows: readonly (Sample | Unreadable)[]): Promise<string> => {
    const { outcomes } = await gateway.score({ reward, rows, signal: io.signal })
    invalid += outcomes.filter(({ valid }) => !valid).length
    progress.add(outcomes.length, invalid)
    return outcomes.map((outcome) => `${JSON.stringify(writeNativeResult(outcome))}\n`).join('')
  }
  const writeFirst = async () => {
    const text = await under.shift()
    if (text && !target.write(text)) await once(target, 'drain')
  }
  let rows: (Sample | Unreadable)[] = []
  let index = 0
  for await (const line of createInterface({ input: source, crlfDelay: Number.POSITIVE_INFINITY })) {
    if (io.signal.aborted) break
    if (line.trim() === '') continue
    rows.push(readLine(line, index++))
    if (rows.length < batchSize) continue
    under.push(scoreBatch(rows))
    rows = []
    if (under.length >= batchesInFlight) await writeFirst()
  }
  if (rows.length > 0) under.push(scoreBatch(rows))
  while (under.length > 0) await writeFirst()
  progress.end()
  if (target !== io.stdout) await new Promise<void>((resolve) => target.end(resolve))
  return io.signal.aborted ? 1 : 0
}

/** A line that is no JSON is an unreadable row: it keeps its place in the output. */
function readLine(line: string, index: number): Sample | Unreadable {
  try {
    const { value, oddities } = parseJsonText(line)
    return readNativeSample(value, index, oddities)
  } catch {
    return {
      id: String(index),
      failure: { kind: 'bad_sample', retryable: false, detail: 'the line is no JSON' },
    }
  }
}

async function opened(source: NodeJS.ReadableStream, target: NodeJS.WritableStream): Promise<void> {
  for (const stream of [source, target]) {
    if (!('path' in stream) || !('pending' in stream)) continue
    await once(stream, 'open').catch((cause) => {
      throw new GatewayError('RG_INPUT_INVALID', `${stream.path}: ${cause.message}`, { cause })
    })
  }
}

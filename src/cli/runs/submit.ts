import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { GatewayError } from '../../core/errors.ts'
import { fileTrouble } from '../../core/system-error.ts'
import { defineCommand, type Io } from '../command.ts'
import { misused, text } from '../options.ts'
import { isRecord, RunClient, runOptions } from './run-client.ts'

/** A request has at most so many lines and about so many characters. */
const batch = { lines: 256, chars: 4 * 1024 * 1024 }
/** Refused lines that are shown. */
const mostShown = 20

/** Exit code 1 if lines were refused. */
export const command = defineCommand({
  name: 'submit',
  summary: 'submits rollouts to the queue of a gateway',
  synopsis: ['FILE --run NAME [--reward NAME]'],
  about: `Submits the lines of a file, or of standard input ('-'), to the queue of a gateway (queue.folder in its gateway.yaml). A line
is a rollout with uid, reward and sample. With --reward, a line may also be a sample as in /v1/score; its uid is its id, or the number
of the line.

A gateway that is full, restarting or away is asked again until it accepts the lines, so the command can be repeated: what is
there is not submitted twice. The exit code is 0 if all lines were accepted, 1 if some were refused.`,
  example: 'rollouts.jsonl --run run-7 --reward quality',
  options: { ...runOptions, reward: text('NAME', 'the reward of lines that are samples') },
  positionals: 'files',
  async run({ values, positionals }, io) {
    const [file, ...others] = positionals
    if (file === undefined || others.length > 0) throw misused('one FILE is needed', 'submit')
    const client = new RunClient(values, 'submit', io)
    const counts = { accepted: 0, refused: 0 }
    for await (const lines of batchesOf(linesOf(file, values.reward, io)))
      await send(client, lines, counts, io)
    io.stdout.write(`${counts.accepted} rollouts accepted, ${counts.refused} refused\n`)
    return counts.refused > 0 ? 1 : 0
  },
})

interface Counts {
  accepted: number
  refused: number
}

/** Sends lines until each was accepted or refused for good. */
async function send(client: RunClient, lines: readonly string[], counts: Counts, io: Io): Promise<void> {
  let wasTold = false
  for (let left = lines; left.length > 0; ) {
    const { results, retryAfterMs } = await client.request('/rollouts', left.join('\n'))
    const again: string[] = []
    for (const [index, result] of (Array.isArray(results) ? results : []).entries()) {
      const error = isRecord(result) && isRecord(result.error) ? result.error : null
      if (error === null) counts.accepted += 1
      else if (error.status === 429 || error.status === 503) {
        if (!wasTold) client.tellWait(String(error.message))
        wasTold = true
        again.push(left[index] ?? '')
      } else if (counts.refused++ < mostShown) io.stderr.write(`refused: ${error.message}\n`)
    }
    left = again
    if (left.length > 0) await client.wait(Math.max(1000, retryAfterMs))
  }
}

/** The lines of a file as rollouts. Rejects with RG_INPUT_INVALID. */
async function* linesOf(file: string, reward: string | undefined, io: Io): AsyncGenerator<string> {
  const input = file === '-' ? io.stdin : createReadStream(file)
  let number = 0
  try {
    for await (const line of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
      number += 1
      if (line.trim() !== '') yield rolloutOf(line, number, reward)
    }
  } catch (error) {
    const trouble = fileTrouble(error)
    if (trouble === null) throw error
    throw new GatewayError('RG_INPUT_INVALID', `${file}: ${trouble}`, { cause: error })
  }
}

function rolloutOf(line: string, number: number, reward: string | undefined): string {
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch {
    // The gateway also takes Python's NaN.
    return line
  }
  if (reward === undefined || !isRecord(value) || 'sample' in value) return line
  const uid = typeof value.id === 'string' || typeof value.id === 'number' ? String(value.id) : String(number)
  return `{"uid":${JSON.stringify(uid)},"reward":${JSON.stringify(reward)},"sample":${line}}`
}

async function* batchesOf(lines: AsyncIterable<string>): AsyncGenerator<readonly string[]> {
  let some: string[] = []
  let chars = 0
  for await (const line of lines) {
    if (some.length > 0 && (some.length >= batch.lines || chars + line.length > batch.chars)) {
      yield some
      some = []
      chars = 0
    }
    some.push(line)
    chars += line.length
  }
  if (some.length > 0) yield some
}

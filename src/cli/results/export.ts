import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { GatewayError } from '../../core/errors.ts'
import { codeOf, reasonOf } from '../../core/system-error.ts'
import { eachRow, rowOf } from '../../workbench/dataset/row.ts'
import { openRows } from '../../workbench/dataset/rows.ts'
import { type RunFigures, StepTally } from '../../workbench/export/step-figures.ts'
import { writeEvents } from '../../workbench/export/tensorboard.ts'
import { defineCommand, type Io } from '../command.ts'
import { file, flag, misused, oneOf, text } from '../options.ts'
import { deliver } from '../output.ts'

/** Exit code 1 if no row has a training step, or if it was stopped by a signal. */
export const command = defineCommand({
  name: 'export',
  summary: "writes a record's figures of each training step for W&B or TensorBoard",
  synopsis: ['RECORDS... --to tensorboard|wandb|jsonl --output DIR'],
  about: `Reads records of a gateway (files, or folders of them) and writes figures by run, reward and training step: rewards, invalid rows
by kind, terms with their parts, tokens and latency. docs/records.md lists them. Rows whose request named no training_step are left out.

tensorboard writes event files into DIR/RUN/REWARD. wandb writes an offline run of W&B for each run and reward into DIR/wandb, with the Python package
reward-gateway-client and wandb; 'wandb sync' uploads it. jsonl writes the figures as JSON lines to the file DIR.`,
  example: 'records --to tensorboard --output runs',
  options: {
    to: oneOf(['tensorboard', 'wandb', 'jsonl'], 'what is written'),
    output: file('DIR', 'the folder that it is written to; a file for jsonl', { suggests: 'folders' }),
    run: text('NAME', 'only this run of the record'),
    project: text('NAME', 'wandb: the project', { or: 'reward-gateway' }),
    python: file('PATH', 'wandb: the Python that has reward-gateway-client and wandb', { or: 'python3' }),
    online: flag('wandb: sends the runs now, with the login of wandb, in place of offline runs'),
  },
  positionals: 'files',
  async run({ values, positionals }, io) {
    const { to, output, run, python, project, online } = values
    if (positionals.length === 0 || to === undefined || !output)
      throw misused('RECORDS, --to and --output are needed', 'export')
    if (to !== 'wandb' && online) throw misused('--online is for --to wandb')
    const tally = new StepTally()
    for (const path of positionals)
      for await (const row of rowsOf(path, io)) {
        if (io.signal.aborted) return 1
        tally.add(row)
      }
    if (tally.rows > 0 && tally.unlike === tally.rows)
      throw new GatewayError(
        'RG_INPUT_INVALID',
        `${positionals.join(', ')}: no row is a line of a gateway's record`,
      )
    const runs = tally.runs().filter((one) => run === undefined || one.run === run)
    if (tally.withoutStep > 0)
      io.stderr.write(`${tally.withoutStep} of ${tally.rows} rows name no training_step and are left out\n`)
    if (tally.unlike > 0) io.stderr.write(`${tally.unlike} rows are no lines of a record and are left out\n`)
    if (runs.length === 0) {
      io.stderr.write('nothing was written: no row of this run has a training_step\n')
      return 1
    }
    if (to === 'tensorboard')
      for (const one of runs)
        await writeEvents(join(output, folderName(one.run), folderName(one.reward)), one)
    else if (to === 'jsonl') await deliver(jsonLines(runs), output, io)
    else await writeRuns(runs, { output, python, project, online }, io)
    const steps = runs.reduce((sum, one) => sum + one.steps.length, 0)
    io.stdout.write(`${counted(steps, 'step')} of ${counted(runs.length, 'run')}: ${output}\n`)
    return 0
  },
})

/** The rows of a file, or of a record's files in a folder. A gateway may still be writing the last of these. */
async function* rowsOf(path: string, io: Io): AsyncGenerator<unknown> {
  const isFolder = await stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  )
  if (!isFolder) {
    for await (const { value } of eachRow(await openRows(path, io.stdin))) yield value
    return
  }
  // It reads what a record holds with zod, which help and completion do not need.
  const { linesOf, recordFiles } = await import('../../serving/telemetry/record/segments.ts')
  const files = await recordFiles(path)
  if (files.length === 0) throw new GatewayError('RG_INPUT_INVALID', `${path}: has no files of a record`)
  for (const file of files) for await (const line of linesOf(file)) yield rowOf(line).value
}

const counted = (count: number, one: string): string => `${count} ${one}${count === 1 ? '' : 's'}`

/** A name that clients chose, as the name of a folder below the output. Different names stay different. */
function folderName(name: string): string {
  const plain = name.replace(/[^\w.-]/g, '_').slice(0, 100)
  if (plain === name && plain !== '' && !plain.startsWith('.')) return plain
  return `${plain.replace(/^\.+/, '') || 'run'}-${createHash('sha256').update(name).digest('hex').slice(0, 8)}`
}

const jsonLines = (runs: readonly RunFigures[]): string =>
  runs
    .flatMap(({ run, reward, steps }) => steps.map((step) => `${JSON.stringify({ run, reward, ...step })}\n`))
    .join('')

interface WandbJob {
  readonly output: string
  readonly python: string
  readonly project: string
  readonly online: boolean
}

/** Gives the lines to the Python client, because wandb's own package is the only writer of its format. */
async function writeRuns(runs: readonly RunFigures[], job: WandbJob, io: Io): Promise<void> {
  const module = ['-m', 'reward_gateway_client.wandb_runs']
  const where = ['--dir', job.output, '--project', job.project, ...(job.online ? ['--online'] : [])]
  const child = spawn(job.python, [...module, ...where], {
    stdio: ['pipe', 'ignore', 'pipe'],
    signal: io.signal,
    env: { ...io.env },
  })
  let errors = ''
  child.stderr.setEncoding('utf8').on('data', (piece: string) => {
    errors = `${errors}${piece}`.slice(-4000)
  })
  // A program that ends early closes its input; its exit code says why.
  child.stdin.on('error', () => {})
  child.stdin.end(jsonLines(runs))
  const failed = (why: string, cause?: unknown) =>
    new GatewayError('RG_COMMAND_INVALID', `${job.python}: ${why}`, { cause })
  const [code] = await once(child, 'close').catch((error) => {
    throw failed(
      codeOf(error) === 'ENOENT' ? 'there is no such program; --python names another' : reasonOf(error),
      error,
    )
  })
  if (code === 0) return
  const last = errors.trimEnd().split('\n').at(-1) ?? ''
  throw failed(
    /No module named/.test(last)
      ? `${last}: it needs 'pip install reward-gateway-client wandb'`
      : `wandb could not write the runs: ${last.replace(/\p{C}/gu, ' ')}`,
  )
}

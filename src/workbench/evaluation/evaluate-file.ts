import { createWriteStream, existsSync } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { GatewayError } from '../../core/errors.ts'
import { inOrder } from '../dataset/batches.ts'
import { promptRows } from '../dataset/prompt-rows.ts'
import { eachRow } from '../dataset/row.ts'
import { jsonLines } from '../dataset/rows.ts'
import { modelStepNames } from '../dataset/samples.ts'
import { earlierResults, openScoredFile } from '../dataset/scored-file.ts'
import { type Answers, openAnswerJournal, openAnswers } from './answers.ts'
import { type Evaluation, readRunFile, runOf, writeRunFile } from './evaluation.ts'
import { idOf, resultLine, samplesOfTurn, type Turn } from './turn.ts'

/**
 * Evaluates a data set and writes the scored file. Does nothing if the output is finished. Rejects with the
 * signal's reason, or with RG_MODEL_FAILED if the policy stops answering; then `resume` can continue.
 */
export async function evaluateFile(evaluation: Evaluation): Promise<void> {
  const { output, n, runs, resume, failedOnly } = evaluation
  if (await isFinished(evaluation)) return
  const rows = await rowsOf(evaluation)
  const file = await openScoredFile(output, { ...runOf(evaluation), failed_only: String(failedOnly) }, resume)
  const journal = await openAnswerJournal(journalOf(output), resume, Math.floor(file.done / n))
  const answers = openAnswers(evaluation, journal)
  const earlier = failedOnly ? await earlierResults(output, evaluation.stdin) : null
  evaluation.events.begun?.(rows.count * runs * n, file.done)
  // Bounds the turns that wait behind a slow answer, but keeps every slot busy.
  const mostUnderWay = 4 * Math.ceil(evaluation.policy.limit / n) + 4
  let left = file.done % n
  const works = async function* () {
    for await (const turn of turnsOf(rows, runs)) {
      const before = earlier && (await earlier.next(range(n).map((draw) => idOf(turn, draw, runs))))
      if ((turn.turn + 1) * n > file.done) yield () => linesOf(evaluation, answers, turn, before)
    }
  }
  try {
    await inOrder(works(), mostUnderWay, evaluation.signal, async (lines) => {
      await file.write(lines.slice(left).join(''))
      left = 0
    })
  } catch (error) {
    await journal.close()
    await file.leave()
    throw error
  }
  await writeSides(`${output}.partial.jsonl`, output, evaluation.solvedAt)
  await writeRunFile(evaluation)
  await file.finish()
  await journal.discard()
}

async function linesOf(
  { gateway, reward, n, runs, signal, events }: Evaluation,
  answers: Answers,
  turn: Turn,
  before: readonly unknown[] | null,
): Promise<readonly string[]> {
  if (before?.every((line) => (line as { readonly valid?: unknown }).valid === true))
    return before.map((line) => `${JSON.stringify(line)}\n`)
  const given = await answers.of(turn, before)
  const rows = samplesOfTurn(turn, given, runs)
  const { outcomes } = await gateway.score({ reward, rows, signal })
  // A stopped run has no results.
  signal.throwIfAborted()
  events.scored?.('failure' in turn.row ? '' : (turn.row.dataSource ?? ''), outcomes)
  return range(n).map((draw) => {
    const [answer, row, outcome] = [given[draw], rows[draw], outcomes[draw]]
    if (!answer || !row || !outcome) throw new Error('an answer has no outcome')
    return resultLine(turn, { draw, runs }, answer, row, outcome)
  })
}

function rowsOf({ gateway, reward, data, limit, shuffleSeed, stdin }: Evaluation) {
  const modelSteps = modelStepNames(gateway.reward(reward).steps)
  return promptRows(data, stdin, { limit, shuffleSeed, modelSteps })
}

async function* turnsOf(rows: Awaited<ReturnType<typeof rowsOf>>, runs: number): AsyncGenerator<Turn> {
  let turn = 0
  for await (const row of rows) for (const run of range(runs)) yield { ...row, run, turn: turn++ }
}

const range = (count: number): readonly number[] => Array.from({ length: count }, (_, at) => at)

/**
 * True if a resumed output is already finished. Throws RG_INPUT_INVALID if a finished file is in the way or
 * belongs to another run.
 */
async function isFinished(evaluation: Evaluation): Promise<boolean> {
  const { output, resume, failedOnly } = evaluation
  const isThere = existsSync(output)
  if (failedOnly && !isThere) throw invalid(`${output} does not exist: --failed-only needs a finished file`)
  if (!isThere || existsSync(`${output}.partial.jsonl`)) return false
  if (!resume && !failedOnly) throw invalid(`${output} already exists; delete it or choose another --output`)
  const before = await readRunFile(output)
  const other = Object.entries(runOf(evaluation)).find(([key, value]) => before[key] !== value)
  if (other) throw unlike(output, other, before)
  if (failedOnly) return false
  // Files that a process leaves if it is killed at the very end.
  await Promise.all([`${output}.partial.json`, journalOf(output)].map((path) => rm(path, { force: true })))
  return true
}

const unlike = (
  output: string,
  [fact, value]: readonly [string, string],
  before: Readonly<Record<string, string>>,
): GatewayError => invalid(`${output} was made with ${fact} ${before[fact] ?? 'unknown'}, not ${value}`)

const journalOf = (output: string): string => `${output}.partial.answers.jsonl`

const invalid = (message: string): GatewayError => new GatewayError('RG_INPUT_INVALID', message)

/** The files for solved and unsolved answers. Lines without a reward are in neither. */
const sidesOf = (output: string): { readonly successes: string; readonly failures: string } => {
  const stem = output.replace(/\.(?:jsonl(?:\.gz)?|parquet)$/, '')
  return { successes: `${stem}.successes.jsonl`, failures: `${stem}.failures.jsonl` }
}

/** Splits the lines of `scored` into two files. A success has a reward of at least `solvedAt`. */
async function writeSides(scored: string, output: string, solvedAt: number): Promise<void> {
  const { successes, failures } = sidesOf(output)
  await writeLines(scored, successes, (reward) => reward >= solvedAt)
  await writeLines(scored, failures, (reward) => reward < solvedAt)
}

async function writeLines(from: string, to: string, isWanted: (reward: number) => boolean): Promise<void> {
  const unfinished = `${to}.partial`
  await pipeline(Readable.from(wanted(from, isWanted)), createWriteStream(unfinished))
  await rename(unfinished, to)
}

async function* wanted(path: string, isWanted: (reward: number) => boolean): AsyncGenerator<string> {
  for await (const { value } of eachRow(await jsonLines(path))) {
    const { reward } = value as { readonly reward: number | null }
    if (reward !== null && isWanted(reward)) yield `${JSON.stringify(value)}\n`
  }
}

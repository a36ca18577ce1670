import { createWriteStream } from 'node:fs'
import { rename } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { jsonLines } from '../dataset/json-lines.ts'
import { eachRow } from '../dataset/row-source.ts'

/** The lines of an output that earned enough, and those that did not; a line without a reward is in neither. */
const sidesOf = (output: string): { readonly successes: string; readonly failures: string } => {
  const stem = output.replace(/\.(?:jsonl(?:\.gz)?|parquet)$/, '')
  return { successes: `${stem}.successes.jsonl`, failures: `${stem}.failures.jsonl` }
}

/** Sorts the lines of `scored` into the sides of `output`: successes have a reward of at least `solvedAt`. */
export async function writeSides(scored: string, output: string, solvedAt: number): Promise<void> {
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

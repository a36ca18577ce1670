import { readFile, writeFile } from 'node:fs/promises'
import { type Evaluation, runOf } from './evaluation.ts'

/** What made a scored file, as texts by name; empty where nothing tells. */
export type RunFacts = Readonly<Record<string, string>>

/** The file beside an output that says what made it. */
const runFileOf = (output: string): string => `${output}.run.json`

/** Tells what made the output, and how its figures are meant. */
export async function writeRunFile(evaluation: Evaluation): Promise<void> {
  const { output, name, place, k, solvedAt } = evaluation
  const meant = { place: String(place), k: String(k), solved_at: String(solvedAt) }
  const facts = { benchmark: name, ...runOf(evaluation), ...meant }
  await writeFile(runFileOf(output), `${JSON.stringify(facts, null, 2)}\n`)
}

/** What made a scored file; nothing where `evaluate` did not. */
export async function readRunFile(output: string): Promise<RunFacts> {
  const text = await readFile(runFileOf(output), 'utf8').catch(() => '{}')
  try {
    const read: unknown = JSON.parse(text)
    const entries = Object.entries(read !== null && typeof read === 'object' ? read : {})
    return Object.fromEntries(
      entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
    )
  } catch {
    return {}
  }
}

/**
 * Evaluation: a policy answers every row of a data set several times, and a reward scores the answers as the server
 * would. Answers are kept as they come and results are written in the order of the rows, so that a run that was ended
 * at any moment goes on to the same file.
 */

import { readFile, writeFile } from 'node:fs/promises'
import type { Outcome } from '../../core/sample/sample.ts'
import type { Gateway } from '../../scoring/gateway/gateway.ts'
import type { Sampling } from '../../scoring/models/api/ask.ts'
import type { Policy } from '../rollout/policy.ts'

/** How a data set is answered. */
export interface EvaluationSettings {
  /** Names its line in tables. */
  readonly name: string
  /** From 0, among the benchmarks of its suite. */
  readonly place: number
  /** The k of pass@k and maj@k. */
  readonly k: number
  readonly data: string
  readonly reward: string
  /** Answers a row in one run. */
  readonly n: number
  readonly runs: number
  /** Rows at most; null: all. */
  readonly limit: number | null
  readonly shuffleSeed: number | null
  /** null: the servers draw as they like, and no two runs are equal. */
  readonly seed: number | null
  /** A plain prompt is sent as a user's message. */
  readonly chat: boolean
  readonly sampling: Omit<Sampling, 'seed' | 'logprobs'>
  /** A reward of so much is a success. */
  readonly solvedAt: number
}

/** One benchmark at work. */
export interface Evaluation extends EvaluationSettings {
  readonly gateway: Gateway
  readonly policy: Policy
  /** The scored file. */
  readonly output: string
  readonly resume: boolean
  /** Goes over a finished output again: samples and scores what has no reward. */
  readonly failedOnly: boolean
  readonly stdin: NodeJS.ReadableStream
  readonly signal: AbortSignal
  readonly events: EvaluationEvents
}

/** What an evaluation tells while it runs. */
export interface EvaluationEvents {
  /** Answers that there will be, and those that an earlier process has written. */
  begun?(answers: number, done: number): void
  /** An answer came, or failed. */
  sampled?(isGood: boolean): void
  /** A row's answers of one run are scored. */
  scored?(dataSource: string, outcomes: readonly Outcome[]): void
}

/** Results of an evaluation that was made with these settings; another's cannot be gone on with. */
export const runOf = (evaluation: Evaluation): Readonly<Record<string, string>> => {
  const { gateway, reward, data, policy, sampling, n, runs, limit, shuffleSeed, seed, chat } = evaluation
  const { version } = gateway.reward(reward)
  const settings = { n, runs, limit, shuffle_seed: shuffleSeed, seed, chat }
  const texts = Object.entries(settings).map(([name, value]) => [name, String(value)])
  return {
    reward,
    version,
    input: data,
    policy: policy.model,
    sampling: JSON.stringify(sampling),
    ...Object.fromEntries(texts),
  }
}

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

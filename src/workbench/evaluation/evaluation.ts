/**
 * Evaluation: the policy answers every row of a data set several times, and a reward scores the answers like
 * the server does. Answers are stored as they arrive and results are written in row order, so a run that
 * stops at any point can be resumed and writes the same file.
 */

import { readFile, writeFile } from 'node:fs/promises'
import type { Outcome } from '../../core/sample/sample.ts'
import type { Gateway } from '../../scoring/gateway/gateway.ts'
import type { Sampling } from '../../scoring/models/interface/ask.ts'
import type { Policy } from '../rollout/policy.ts'

/** How a data set is evaluated. */
export interface EvaluationSettings {
  /** The benchmark's name in tables. */
  readonly name: string
  /** The benchmark's position in its suite, from 0. */
  readonly place: number
  /** The k of pass@k and maj@k. */
  readonly k: number
  readonly data: string
  readonly reward: string
  /** Answers for each row in one run. */
  readonly n: number
  readonly runs: number
  /** The maximum number of rows. null: all rows. */
  readonly limit: number | null
  readonly shuffleSeed: number | null
  /** null: no seed is sent, so two runs differ. */
  readonly seed: number | null
  /** Sends a plain prompt as a user message. */
  readonly chat: boolean
  readonly sampling: Omit<Sampling, 'seed' | 'logprobs'>
  /** An answer with at least this reward is solved. */
  readonly solvedAt: number
}

/** The evaluation of one benchmark. */
export interface Evaluation extends EvaluationSettings {
  readonly gateway: Gateway
  readonly policy: Policy
  /** The path of the scored file. */
  readonly output: string
  readonly resume: boolean
  /** Samples and scores the rows of a finished output that have no reward. */
  readonly failedOnly: boolean
  readonly stdin: NodeJS.ReadableStream
  readonly signal: AbortSignal
  readonly events: EvaluationEvents
}

export interface EvaluationEvents {
  /** The total number of answers and how many of them an earlier process has written. */
  begun?(answers: number, done: number): void
  sampled?(isGood: boolean): void
  /** Called when a row's answers of one run are scored. */
  scored?(dataSource: string, outcomes: readonly Outcome[]): void
}

/** Identifies the settings of an evaluation. Only an evaluation with equal settings may be resumed. */
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

/** How a scored file was made, by name. Empty if unknown. */
export type RunFacts = Readonly<Record<string, string>>

/** The file beside an output that describes the run. */
const runFileOf = (output: string): string => `${output}.run.json`

/** Records the settings of the run and how its figures are defined. */
export async function writeRunFile(evaluation: Evaluation): Promise<void> {
  const { output, name, place, k, solvedAt } = evaluation
  const meant = { place: String(place), k: String(k), solved_at: String(solvedAt) }
  const facts = { benchmark: name, ...runOf(evaluation), ...meant }
  await writeFile(runFileOf(output), `${JSON.stringify(facts, null, 2)}\n`)
}

/** Reads the settings of a scored file. Empty if `evaluate` did not write it. */
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

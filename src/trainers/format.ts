/**
 * A trainer's request and reply format. Reading and writing are pure: the same bytes give the same samples, and the
 * same outcomes give the same reply. The HTTP server adds deadlines and joins repeated requests.
 */
import type { ZodType, z } from 'zod'
import { GatewayError } from '../core/errors.ts'
import type { NonJsonLiteral } from '../core/json/text.ts'
import type { GroupMembership, Outcome, Sample, Unreadable } from '../core/sample/sample.ts'
import type { MaybePromise } from '../core/slices.ts'
import type { GroundTruthIndex } from './ground-truth-index.ts'

/** A trainer's format: the paths that its client calls. */
export interface TrainerFormat {
  /** Appears in the path `/wire/<name>/<reward>` and in gateway.yaml. */
  readonly name: string
  /** Seconds, less than the client waits. null: the client waits forever. */
  readonly deadlineS: number | null
  /** Whether gateway.yaml may name a `ground_truth_file` for rows that bring no ground truth. */
  readonly looksUp?: true
  /** Keyed by the part of the path after the reward. */
  readonly routes: Readonly<Record<string, TrainerRoute>>
  /** Paths that the client calls but that score nothing, with their fixed replies. */
  readonly fixed?: Readonly<Record<string, unknown>>
  /** Paths that the client reads (GET): what the reward is like. */
  readonly facts?: Readonly<Record<string, { readonly summary: string; read(reward: RewardShape): unknown }>>
}

/** One path of a format. */
export interface TrainerRoute {
  /** `<trainer>: <its setting>`, shown at /docs and in docs/trainers.md. */
  readonly summary: string
  /** A body that does not match is refused with a 400 that names the place. */
  readonly body: ZodType
  readonly query: ZodType
  /**
   * How the reply says that a sample is invalid. `marked`: it has a field for that. `number`: it can only hold numbers, so
   * the request fails if a sample is invalid and the configs name no number for it.
   */
  readonly invalid: 'number' | 'marked'
  /** Whether a missing number is written as NaN, for clients that read it with Python's json and expect a float. */
  readonly writesNaN?: true
  /** The members of the body that are lists with one entry per row. Absent: the body is one row. */
  readonly rows?: readonly string[]
  /** Works in slices on long lists of rows. */
  read(request: TrainerRequest): MaybePromise<ParsedRequest>
}

/** A request after its route's schemas parsed it. */
export interface TrainerRequest<B = unknown, Q = unknown> {
  readonly body: B
  readonly query: Q
  readonly literals: readonly NonJsonLiteral[]
  /** null: no file is configured. */
  readonly groundTruths: GroundTruthIndex | null
  /** `limits.max_row_values`, which applies to the JSON text of a label as well. */
  readonly maxRowValues: number
}

/** The rows of a request, and how to write its reply. */
export interface ParsedRequest {
  readonly rows: readonly (Sample | Unreadable)[]
  /** How long the client waits, if the request says so. */
  readonly deadlineMs?: number
  /** The group of the only row, if the group's other answers come in requests of their own. */
  readonly group?: Required<GroupMembership>
  /** Returns the body of the reply. There is one answer per row, in the order of the rows. */
  write(answers: readonly RowAnswer[], reward: RewardShape): unknown
}

/** An outcome with the number for the reply: the reward, what `on_invalid` supplies, or 0. */
export interface RowAnswer {
  readonly outcome: Outcome
  readonly reward: number
}

/** What a format needs to know about a reward so that all its replies have the same fields. */
export interface RewardShape {
  /** Whether the reward is always the sum of its terms' contributions. */
  readonly isSum: boolean
  /** Whether a step compares the answers of a group. */
  readonly comparesGroups: boolean
}

/** Gives `read` the types of the route's schemas. */
export function trainerRoute<B extends ZodType, Q extends ZodType>(
  parts: Omit<TrainerRoute, 'body' | 'query' | 'read'> & {
    readonly body: B
    readonly query: Q
    read(request: TrainerRequest<z.output<B>, z.output<Q>>): MaybePromise<ParsedRequest>
  },
): TrainerRoute {
  return {
    ...parts,
    read: (request) => parts.read(request as TrainerRequest<z.output<B>, z.output<Q>>),
  }
}

/** A trainer's settings in gateway.yaml. A format takes only some of them. */
export interface TrainerSettings {
  readonly deadline_s?: number | undefined
  readonly on_invalid?: number | 'fail' | 'group_mean' | { readonly group_mean: number | null } | undefined
  /** An absolute path. */
  readonly ground_truth_file?: string | undefined
}

const mostProblems = 10

/**
 * Finds the number of each outcome for the reply. The trainer's own `on_invalid` takes precedence over the reward's.
 * Throws RG_SAMPLES_FAILED if a sample has no number and the reply cannot say so.
 */
export function applyInvalidPolicy(
  trainer: string,
  invalid: TrainerRoute['invalid'],
  outcomes: readonly Outcome[],
  onInvalid: TrainerSettings['on_invalid'],
): readonly RowAnswer[] {
  const answers = outcomes.map((outcome) => ({ outcome, reward: numberOf(outcome, onInvalid) }))
  const failed = invalid === 'marked' ? [] : answers.filter(({ reward }) => reward === null)
  if (failed.length === 0) return answers.map(({ outcome, reward }) => ({ outcome, reward: reward ?? 0 }))
  const problems = failed.slice(0, mostProblems).flatMap(({ outcome: { id, ...outcome } }) => {
    const { kind, detail } = outcome.valid ? { kind: '', detail: '' } : outcome.failure
    return { path: `samples.${id}`, message: `${kind}: ${detail}` }
  })
  throw new GatewayError(
    'RG_SAMPLES_FAILED',
    `${failed.length} of ${outcomes.length} samples have no reward, and this format cannot say so; set on_invalid in the reward or in trainers.${trainer} to give them a number`,
    { problems },
  )
}

function numberOf(outcome: Outcome, onInvalid: TrainerSettings['on_invalid']): number | null {
  if (outcome.valid) return outcome.reward
  if (onInvalid === 'fail') return null
  // A group mean was computed while scoring; it is the outcome's substitute.
  return typeof onInvalid === 'number' ? onInvalid : outcome.substitute
}

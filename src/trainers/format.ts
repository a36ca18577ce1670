import type { ZodType, z } from 'zod'
import { GatewayError } from '../core/errors.ts'
import type { NonJsonLiteral } from '../core/json/text.ts'
import type { GroupMembership, Outcome, Sample, Unreadable } from '../core/sample/sample.ts'
import type { MaybePromise } from '../core/slices.ts'
import type { GroundTruthIndex } from './ground-truth-index.ts'

/**
 * One trainer's request and reply format. Reading and writing are pure: the same bytes give the same samples, and the
 * same outcomes the same reply. Serving them, with deadlines and repeated requests, is http's part.
 */

/** One trainer's request and reply format. Pure. */
export interface Wire {
  /** In the path `/wire/<name>/<reward>` and in gateway.yaml. */
  readonly name: string
  /** Below the client's own patience, seconds; null: the client waits for ever. */
  readonly deadlineS: number | null
  /** Rows without a truth get it from the file that gateway.yaml names in `ground_truth_file`. */
  readonly looksUp?: true
  /** By what follows the reward in the path. */
  readonly routes: Readonly<Record<string, WireRoute>>
  /** Paths of the trainer's that are answered with this and score nothing. */
  readonly fixed?: Readonly<Record<string, unknown>>
}

/** One path of a wire. */
export interface WireRoute {
  /** `<trainer>: <its setting>`, for /docs and docs/trainers.md. */
  readonly summary: string
  /** What it refuses is a 400 that names the place. */
  readonly body: ZodType
  readonly query: ZodType
  /** `number`: the reply has no word for 'invalid'; without a number from the configs the request fails. */
  readonly invalid: 'number' | 'told'
  /** True where the reply says NaN for 'no number', which Python's json reads: its client knows no null there. */
  readonly writesNaN?: true
  /** Members of the body that are lists with a row's share in each place; absent: the body is one row. */
  readonly rows?: readonly string[]
  /** What is done for each of many rows is done in slices. */
  read(request: WireRequest): MaybePromise<WireReading>
}

/** What a wire reads. */
export interface WireRequest {
  /** As the route's schemas parsed them. */
  readonly body: unknown
  readonly query: unknown
  readonly oddities: readonly NonJsonLiteral[]
  /** null: the wire looks nothing up. */
  readonly truths: GroundTruthIndex | null
  /** `limits.max_row_values`: they hold for a label's text, too. */
  readonly maxRowValues: number
}

/** What a route's `read` works with besides the body. */
export interface ReadContext<Q> {
  readonly query: Q
  readonly oddities: readonly NonJsonLiteral[]
  readonly truths: GroundTruthIndex | null
  readonly maxRowValues: number
}

/** What a wire understood of a request. */
export interface WireReading {
  readonly rows: readonly (Sample | Unreadable)[]
  /** Where the request itself says how long its client waits. */
  readonly deadlineMs?: number
  /** The place of the only row in its group, whose other answers come in requests of their own. */
  readonly group?: Required<GroupMembership>
  /** The reply's body. One answer a row, in the order of the rows. */
  write(answers: readonly WireAnswer[], reward: RewardShape): unknown
}

/** An outcome with the number that stands in the reply: the reward, what `on_invalid` supplies, else 0. */
export interface WireAnswer {
  readonly outcome: Outcome
  readonly reward: number
}

/** What a wire must know of the reward as a whole, so that every reply has the same form. */
export interface RewardShape {
  /** True where the reward is always the sum of its terms' contributions. */
  readonly isSum: boolean
}

/** A route whose `read` has the types of its schemas. */
export function wireRoute<B extends ZodType, Q extends ZodType>(
  parts: Omit<WireRoute, 'body' | 'query' | 'read'> & {
    readonly body: B
    readonly query: Q
    read(body: z.output<B>, context: ReadContext<z.output<Q>>): MaybePromise<WireReading>
  },
): WireRoute {
  return {
    ...parts,
    read: ({ body, query, ...rest }) =>
      parts.read(body as z.output<B>, { ...rest, query: query as z.output<Q> }),
  }
}

/** What gateway.yaml says of a wire; not every wire takes each setting. */
export interface WireSettings {
  readonly deadline_s?: number | undefined
  readonly on_invalid?: number | 'fail' | 'group_mean' | { readonly group_mean: number | null } | undefined
  /** An absolute path. */
  readonly ground_truth_file?: string | undefined
}

const mostProblems = 10

/**
 * The number of each outcome in a reply. `onInvalid` is the wire's own setting and goes before the reward's; where
 * neither names a number and the reply has no word for 'invalid', throws RG_SAMPLES_FAILED.
 */
export function applyInvalidPolicy(
  wire: string,
  invalid: WireRoute['invalid'],
  outcomes: readonly Outcome[],
  onInvalid: WireSettings['on_invalid'],
): readonly WireAnswer[] {
  const answers = outcomes.map((outcome) => ({ outcome, reward: numberOf(outcome, onInvalid) }))
  if (invalid === 'told') return answers.map(({ outcome, reward }) => ({ outcome, reward: reward ?? 0 }))
  const failed = answers.filter(({ reward }) => reward === null)
  if (failed.length === 0) return answers.map(({ outcome, reward }) => ({ outcome, reward: reward ?? 0 }))
  const problems = failed.slice(0, mostProblems).flatMap(({ outcome: { id, ...outcome } }) => {
    const { kind, detail } = outcome.valid ? { kind: '', detail: '' } : outcome.failure
    return { path: `samples.${id}`, message: `${kind}: ${detail}` }
  })
  throw new GatewayError(
    'RG_SAMPLES_FAILED',
    `${failed.length} of ${outcomes.length} samples have no reward, and this format has no word for that; on_invalid of the reward or of wires.${wire} may name a number`,
    { problems },
  )
}

/** A mean of siblings was asked of the gateway with the rows, and is the outcome's substitute. */
function numberOf(outcome: Outcome, onInvalid: WireSettings['on_invalid']): number | null {
  if (outcome.valid) return outcome.reward
  if (onInvalid === 'fail') return null
  return typeof onInvalid === 'number' ? onInvalid : outcome.substitute
}

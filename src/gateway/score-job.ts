import type { Clock } from '../clock.ts'
import type { DrawnEvent } from '../engine/events.ts'
import type { ModelTime } from '../engine/model-time.ts'
import { GatewayError } from '../errors.ts'
import { type OnInvalidSetting, onInvalidOf } from '../plan/on-invalid.ts'
import type { Plan } from '../plan/plan.ts'
import type { Outcome } from '../sample/outcome.ts'
import type { Sample, Unreadable } from '../sample/sample.ts'
import type { Trace } from '../tracing/trace.ts'
import type { Serving } from './serving.ts'

/** Rows to be scored by one reward. */
export interface ScoreJob {
  readonly reward: string
  readonly rows: readonly (Sample | Unreadable)[]
  /** Aborted when nobody waits any more; a function is called with the first question, if there is one. */
  readonly signal: AbortSignal | (() => AbortSignal)
  readonly run?: string
  readonly trainingStep?: number
  /** Names the request in the record; a random one if absent. */
  readonly requestId?: string
  /** Where the request stands in a trace; absent: in none. */
  readonly trace?: Trace
  /** Told of the time that questions are at models. */
  readonly modelTime?: ModelTime
  /** Milliseconds from here; the shorter one of this and the reward's own deadline holds. */
  readonly deadlineMs?: number
  /** In place of the reward's own `on_invalid`. */
  readonly onInvalid?: OnInvalidSetting
  /**
   * Others of the rows' groups come in requests of their own even where the reward has no `group.wait_s`: they are waited
   * for, at most half of the time there is.
   */
  readonly holdsGroups?: boolean
  /** Refused with RG_OVERLOADED where its questions would wait too long for their models; absent: they wait. */
  readonly isRefusable?: boolean
  /** Called once a row, as soon as its outcome is final; in any order. */
  readonly onOutcome?: (index: number, outcome: Outcome) => void
  /** Called for each draw of a question, before the outcomes that it counts in. */
  readonly onDrawn?: (event: DrawnEvent) => void
}

/** What came of a job. */
export interface Scored {
  /** One a row, in the order of the rows. */
  readonly outcomes: readonly Outcome[]
  /** Of the config that scored all of them. */
  readonly version: string
}

/** Scores with what is served. Throws at once what the engine throws at once: a reply that streams has then not begun. */
export function scoreBy(
  { settings, engine }: Serving,
  plan: Plan,
  job: ScoreJob,
  clock: Clock,
): Promise<Scored> {
  const { deadlineMs = Number.POSITIVE_INFINITY, onInvalid, holdsGroups } = job
  const longest = settings.limits.deadline_s * 1000
  const patience = Math.min(deadlineMs, plan.deadlineMs ?? Number.POSITIVE_INFINITY, longest)
  let served = plan
  if (onInvalid !== undefined) served = { ...served, onInvalid: onInvalidOf(onInvalid) }
  if (holdsGroups) {
    const { group } = plan
    served = { ...served, group: { ...group, waitMs: Math.min(group.waitMs, patience / 2) } }
  }
  const scoring = engine.score({ ...job, plan: served, deadline: clock.now() + patience })
  return scoring.then((outcomes) => answered(outcomes, served))
}

function answered(outcomes: readonly Outcome[], { onInvalid, version }: Plan): Scored {
  const invalid = outcomes.filter(({ valid }) => !valid).length
  if (onInvalid.kind === 'fail' && invalid > 0) {
    throw new GatewayError('RG_SAMPLES_FAILED', `${invalid} of ${outcomes.length} samples have no reward`)
  }
  return { outcomes, version }
}

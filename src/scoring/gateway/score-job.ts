import type { Clock } from '../../core/clock.ts'
import { GatewayError } from '../../core/errors.ts'
import type { ListenerGuard } from '../../core/listener-guard.ts'
import type { Outcome } from '../../core/sample/sample.ts'
import type { ScoreRequest } from '../engine/job.ts'
import type { Plan } from '../plan/plan.ts'
import { type OnInvalidSetting, onInvalidOf } from '../plan/reward-config.ts'
import type { Runtime } from './runtime.ts'

/** Rows to be scored by one reward. */
export interface ScoreJob extends ScoreRequest {
  readonly reward: string
  /** Milliseconds from here; the shorter one of this and the reward's own deadline holds. */
  readonly deadlineMs?: number | undefined
  /** In place of the reward's own `on_invalid`. */
  readonly onInvalid?: OnInvalidSetting | undefined
  /**
   * Others of the rows' groups come in requests of their own even where the reward has no `group.wait_s`: they are waited
   * for, at most half of the time there is.
   */
  readonly holdsGroups?: boolean | undefined
}

/** What came of a job. */
export interface Scored {
  /** One a row, in the order of the rows. */
  readonly outcomes: readonly Outcome[]
  /** Of the config that scored all of them. */
  readonly version: string
}

/** The same job with its callbacks behind the guard. */
export function guardedJob(guard: ListenerGuard, job: ScoreJob): ScoreJob {
  const { onOutcome, onDrawn } = job
  if (!onOutcome && !onDrawn) return job
  return {
    ...job,
    onOutcome: guard.callback('onOutcome', onOutcome),
    onDrawn: guard.callback('onDrawn', onDrawn),
  }
}

/** Scores with what is served. Throws at once what the engine throws at once: a reply that streams has then not begun. */
export function scoreBy(
  { settings, engine }: Runtime,
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
  const {
    rows,
    signal,
    run,
    trainingStep,
    requestId,
    trace,
    waitTime,
    isRefusable,
    bodyBytes,
    onOutcome,
    onDrawn,
  } = job
  const scoring = engine.score({
    plan: served,
    deadline: clock.now() + patience,
    rows,
    signal,
    run,
    trainingStep,
    requestId,
    trace,
    waitTime,
    isRefusable,
    bodyBytes,
    onOutcome,
    onDrawn,
  })
  return scoring.then((outcomes) => answered(outcomes, served))
}

function answered(outcomes: readonly Outcome[], { onInvalid, version }: Plan): Scored {
  const invalid = outcomes.filter(({ valid }) => !valid).length
  if (onInvalid.kind === 'fail' && invalid > 0) {
    throw new GatewayError('RG_SAMPLES_FAILED', `${invalid} of ${outcomes.length} samples have no reward`)
  }
  return { outcomes, version }
}

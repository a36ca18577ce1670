import type { Clock } from '../../core/clock.ts'
import type { Sample, Term } from '../../core/sample/sample.ts'
import type { CallRow, FunctionHost } from '../functions/function-host.ts'
import type { Models } from '../models/models.ts'
import type { PlanStep } from '../plan/plan.ts'
import type { EngineEvents } from './events.ts'
import type { Gates } from './gate.ts'
import type { incomplete, RequestGroups } from './groups/group.ts'
import type { Expiry, Job } from './job.ts'

/** What every step of a request's samples works with. */
export interface StepContext {
  readonly functions: FunctionHost
  readonly models: Models
  readonly clock: Clock
  readonly secret: string
  readonly events?: EngineEvents | undefined
  readonly job: Job
  /** The end of the request's patience. */
  readonly end: Expiry
  /** What the request may have under way at once. */
  readonly gates: Gates
  readonly groups: RequestGroups
  /** Groups whose members come in requests of their own. */
  readonly cohorts: CrossRequestGroups
  /** Keeps functions and models open, beside the request, until the returned function is called. */
  hold(): () => void
}

/** A member of a group, with what its request knows. `row` null: it takes no part. */
export interface Joining {
  readonly context: StepContext
  readonly sample: Sample
  readonly row: CallRow | null
}

/** Groups whose members come in requests of their own. */
export interface CrossRequestGroups {
  /**
   * Resolves with the member's term (null: it takes no part) once `size` members are there, or `least` when the time is
   * over; else with `incomplete`. A retry, the same answer under the same index, gets what the first try got; without a
   * training step, the same answer of a member that still waits or has its reward belongs to the next epoch.
   */
  join(
    step: PlanStep,
    joining: Joining,
    need: { readonly size: number; readonly least: number; readonly waitMs: number },
  ): Promise<Term | null | typeof incomplete>
  /** Tells that a sample has its outcome, whether or not it joined. */
  concluded(sample: Sample, isValid: boolean): void
}

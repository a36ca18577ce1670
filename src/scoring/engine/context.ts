import type { Clock } from '../../core/clock.ts'
import type { Sample, Term } from '../../core/sample/sample.ts'
import type { CallRow, FunctionHost } from '../functions/function-host.ts'
import type { Models } from '../models/models.ts'
import type { PlanStep } from '../plan/plan.ts'
import type { EngineEvents } from './events.ts'
import type { Gates } from './gate.ts'
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
  readonly groups: GroupMembership & GroupWaiting
  /** Groups whose members come in requests of their own. */
  readonly crossRequestGroups: GroupWaiting
  /** Keeps functions and models open, beside the request, until the returned function is called. */
  hold(): () => void
}

/** Which samples of a request belong together. */
export interface GroupMembership {
  /** Whether a sample says which group it belongs to. One that does not is alone. */
  isNamed(sample: Sample): boolean
  /** The members of a sample's group, in request order. A repeated index and response counts once. */
  membersOf(sample: Sample): readonly Sample[]
  /** Answers in a sample's group: as many as its rows claim, or as came if these are more. */
  sizeOf(sample: Sample): number
}

/** In place of a result: too few members came, or this one came too late. */
export const incomplete = Symbol('incomplete')

/** A member of a group, with what its request knows. `row` null: the member takes no part. */
export interface Joining {
  readonly context: StepContext
  readonly step: PlanStep
  readonly sample: Sample
  readonly row: CallRow | null
}

/** What a group needs before its step runs. */
export interface Quorum {
  /** Members that the group has: with these it starts at once. */
  readonly size: number
  /** Members that are enough when the time is over. */
  readonly least: number
  /** From the first member on, in milliseconds. Infinity: no limit. */
  readonly waitMs: number
}

/** Lets the members of a group wait for each other. */
export interface GroupWaiting {
  /** The member's term; null: it takes no part. */
  join(joining: Joining, quorum: Quorum): Promise<Term | null | typeof incomplete>
}

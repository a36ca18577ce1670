import type { Clock } from '../../core/clock.ts'
import type { Sample, Term } from '../../core/sample/sample.ts'
import type { GroupTimes, RequestTimes } from '../../core/stalls/request-times.ts'
import type { CallRow, FunctionHost } from '../functions/function-host.ts'
import type { Models } from '../models/models.ts'
import type { PlanStep } from '../plan/plan.ts'
import type { Sandboxes } from '../sandboxes/sandboxes.ts'
import type { EngineEvents } from './events.ts'
import type { EngineJob, Expiry, Gates } from './job.ts'

/** What the steps of one request share. */
export interface StepContext {
  readonly functions: FunctionHost
  readonly models: Models
  readonly sandboxes: Sandboxes
  readonly clock: Clock
  readonly secret: string
  readonly events?: EngineEvents | undefined
  readonly job: EngineJob
  /** When the request ends early. */
  readonly end: Expiry
  /** Limits on what the request may have in progress at once. */
  readonly gates: Gates
  /** Where the time of each row goes. */
  readonly times: RequestTimes
  /** Of a run over a group: whose waits it notes. Absent: those of the row. */
  readonly owner?: number | undefined
  /** Made when they are first needed: most plans have no group step. */
  groups(): Groups
  /** Groups whose members arrive in separate requests. */
  readonly crossRequestGroups: GroupWaiting
  /** Keeps functions and models open, even after the request ends, until the returned function is called. */
  hold(): () => void
}

/** Which samples of a request belong together, and how they wait for each other. */
export interface Groups {
  /** Whether a sample names its group. One that does not is alone. */
  isNamed(sample: Sample): boolean
  /** The members of a sample's group, in request order. Repeats of the same index and response count once. */
  membersOf(sample: Sample): readonly Sample[]
  /** The size of a sample's group: what its rows claim, or the number that arrived if that is larger. */
  sizeOf(sample: Sample): number
  /** Calls `done` once, after it has returned what the member waits for. */
  join(joining: Joining, quorum: Quorum, done: (joined: Joined) => void): GroupTimes
}

/** Returned instead of a term when too few members arrived, or this one arrived too late. */
export const incomplete = Symbol('incomplete')

/** What a member of a group gets: its term, or null if the step is off for it. */
export type Joined = Term | null | typeof incomplete

/** A member of a group and the context of its request. `row` null: the step is off for this member. */
export interface Joining {
  readonly context: StepContext
  readonly step: PlanStep
  readonly sample: Sample
  readonly row: CallRow | null
  /** The sample's index in its request. */
  readonly place: number
}

/** When a group's step may run. */
export interface Quorum {
  /** With this many members, the step starts immediately. */
  readonly size: number
  /** This many members suffice when the wait is over. */
  readonly least: number
  /** Milliseconds from the first member on. Infinity: no limit. */
  readonly waitMs: number
}

/** Waits for members that arrive in other requests. */
export interface GroupWaiting {
  /** `times` learns what the member waits for. */
  join(joining: Joining, quorum: Quorum, times: GroupTimes): Promise<Joined>
}

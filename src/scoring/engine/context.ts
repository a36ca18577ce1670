import type { Clock } from '../../core/clock.ts'
import type { FunctionHost } from '../functions/function-host.ts'
import type { Models } from '../models/models.ts'
import type { EngineEvents } from './events.ts'
import type { Gates } from './gate.ts'
import type { CrossRequestGroups } from './groups/cross-request-groups.ts'
import type { RequestGroups } from './groups/request-groups.ts'
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
  readonly crossRequestGroups: CrossRequestGroups
  /** Keeps functions and models open, beside the request, until the returned function is called. */
  hold(): () => void
}

import type { AskName } from '../../contract/index.ts'
import type { Answered, AskRequest, Rendered, WaitLimits } from './api/ask.ts'
import type { Forwarded, ForwardRequest } from './api/forwarded.ts'
import type { InstanceConfig, ModelConfig } from './api/model-config.ts'
import type { InstanceState } from './pool/pool-member.ts'
import type { ModelLine } from './pool/queue-status.ts'

/** One instance in one model's pool. Counters are of this model there, since it joined. */
export interface InstanceSnapshot {
  readonly address: string
  readonly state: InstanceState
  readonly weight: number
  /** Questions under way. */
  readonly inFlight: number
  /** Questions that it may have under way: its limit, or fewer while a line stands in the server itself. */
  readonly limit: number
  /** Moving average of good calls; 0: none yet. */
  readonly latencyMs: number
  readonly calls: number
  readonly errors: number
}

/** One model's pool right now. */
export interface ModelSnapshot {
  readonly name: string
  /** The name that its servers serve. */
  readonly serves: string
  readonly backend: string
  /** `unknown`: it was not asked yet; models without lifecycle and gpu_group are `awake`. */
  readonly memory: 'awake' | 'asleep' | 'unknown'
  /** Questions in line for an instance. */
  readonly waiting: number
  /** Questions that wait because no instance can be asked, and since when (milliseconds since the epoch); null: none does. */
  readonly parked: { readonly questions: number; readonly since: number } | null
  /** Its questions would wait for an instance as long as they may, and one has lived. */
  readonly isPatient: boolean
  readonly instances: readonly InstanceSnapshot[]
}

/** Reward models by global name. Methods that take a name throw RG_NOT_FOUND for one that is not there. */
export interface Models {
  readonly names: readonly string[]
  /** Rejects with AskError only. One question's callers share one upstream call; it is aborted when all have gone. */
  ask<A extends AskName>(request: AskRequest<A>): Promise<Answered<A>>
  /** How the model's line stands: whether a question that came now would have to wait, and how long. */
  line(model: string): ModelLine
  /** Questions of the model wait because no instance of it can be asked; costs less than `line`. */
  isParked(model: string): boolean
  /**
   * Milliseconds that surely are enough for the answers to `ahead` questions, or to those under way if they are more, and to
   * `more` behind them; costs less than `line`. Infinity: nothing so simple can be said.
   */
  enoughMs(model: string, ahead: number, more: number): number
  /** Tokens of a question, as the model's config says to count them. Rejects with AskError. */
  countTokens(model: string, input: Rendered, patience: WaitLimits): Promise<number>
  /** Passes a client's request on to an instance, streams included. Rejects with AskError. */
  forward(model: string, request: ForwardRequest): Promise<Forwarded>
  /** Adds an instance, or takes a draining one back. Throws RG_FORBIDDEN for an address outside the model's `allow`. */
  addInstance(model: string, place: InstanceConfig): void
  /** No further questions for the instance; resolves when its calls have come back. */
  drainInstance(model: string, address: string): Promise<void>
  /** Drains, then forgets. */
  removeInstance(model: string, address: string): Promise<void>
  /** No further questions for the instance, with the reason; null: it may have them again. Nothing where it is not there. */
  suspect(model: string, address: string, reason: string | null): void
  /** Gives back the GPU memory of all instances when their calls are done. Throws RG_REQUEST_INVALID without a lifecycle. */
  sleep(model: string): Promise<void>
  wake(model: string): Promise<void>
  /** The models of other configs; those that are the same, and all instances, are shared. This one stays open. */
  next(configs: Readonly<Record<string, ModelConfig>>): Models
  /** How every pool is right now. */
  snapshot(): readonly ModelSnapshot[]
  /** Waits for nothing: aborts what is in flight, except at models that a later or earlier one shares. */
  close(): Promise<void>
}

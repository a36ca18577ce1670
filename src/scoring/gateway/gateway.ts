import { randomBytes } from 'node:crypto'
import { type Clock, systemClock } from '../../core/clock.ts'
import { GatewayError } from '../../core/errors.ts'
import { type ListenerFailure, ListenerGuard } from '../../core/listener-guard.ts'
import { didYouMean } from '../../core/nearest-name.ts'
import { packageVersion } from '../../core/package-version.ts'
import type { Failure, Outcome, Sample, Score } from '../../core/sample/sample.ts'
import { withoutThoughts } from '../engine/guard/answers.ts'
import type { ScoreRequest } from '../engine/job.ts'
import type { FunctionDescription, FunctionHost } from '../functions/function-host.ts'
import type { ForwardReply, ForwardRequest } from '../models/api/ask.ts'
import { fullGuard } from '../models/api/model-config.ts'
import type { InstanceSnapshot, ModelSnapshot, Models } from '../models/models.ts'
import type { GatewaySettings } from '../plan/gateway-config.ts'
import type { Plan } from '../plan/plan.ts'
import { type OnInvalidSetting, onInvalidOf } from '../plan/reward-config.ts'
import type { Keys } from './keys.ts'
import { guardedEvents } from './listeners.ts'
import { gatewayRooms, type LastReload, openReloader, type Runtime, type RuntimeOptions } from './runtime.ts'

/**
 * The composition root: configs, reward functions and model servers become one thing that scores samples. It knows no
 * HTTP; the server, the command line, the audit and the analysis all score through it.
 */

export type { DrawnEvent } from '../engine/events.ts'
export { WaitTime } from '../engine/job.ts'
export type { ForwardReply as Forwarded } from '../models/api/ask.ts'
export { AskError } from '../models/api/ask.ts'
export type { ModelSnapshot } from '../models/models.ts'

/** What the admin API may do with models. */
type Pools = Pick<Models, 'names' | 'addInstance' | 'drainInstance' | 'removeInstance' | 'sleep' | 'wake'>

/** Everything that serves, the command line and tests do with rewards. Closed by who opened it. */
export interface Gateway {
  /** The package's version. */
  readonly version: string
  readonly settings: GatewaySettings
  /**
   * Throws at once: RG_REWARD_UNKNOWN, RG_OVERLOADED, RG_REQUEST_TOO_LARGE, RG_CLOSING. Rejects only with RG_SAMPLES_FAILED, where the reward
   * says `on_invalid: fail`. Otherwise every row has an outcome.
   */
  score(job: ScoreJob): Promise<Scored>
  /** Every served plan, by name. */
  rewards(): readonly Plan[]
  /** Throws RG_REWARD_UNKNOWN with the nearest name. */
  reward(name: string): Plan
  /** What a step reads in a judge's text. Throws RG_REWARD_UNKNOWN, RG_REQUEST_INVALID where no step reads one. */
  readReply(reward: string, step: string, sample: Sample, text: string): Promise<ReadReply>
  /** Every function that a config could use; loads those that no config uses. */
  functions(): Promise<readonly FunctionDescription[]>
  models(): readonly ModelSnapshot[]
  /** Passes a client's request on to a model. Rejects with RG_NOT_FOUND, RG_CLOSING or AskError. */
  forward(model: string, request: Omit<ForwardRequest, 'deadline'>): Promise<ForwardReply>
  /** Instances and memory of the models that are served now; see Models for what each throws. */
  readonly pools: Pools
  /** Who may call; read when first asked for. Throws RG_CONFIG_INVALID where keys are missing. */
  readonly keys: Keys
  /** Calls listeners; what they throw is counted and logged. */
  readonly guard: ListenerGuard
  /** What is needed before every reward can be scored: the models without a living instance. */
  missing(): readonly string[]
  /** Every reward can be scored, or will be once models that were there are back: their questions wait. */
  readonly isReady: boolean
  /** Instances that fail their canaries and get no questions, of the models of one reward or of all. */
  suspects(reward?: string): readonly Suspect[]
  /** Rows in progress. */
  readonly inFlight: number
  /** null: there was none. */
  readonly lastReload: LastReload | null
  /**
   * Reads configs and functions again, scores `reload.samples` with them and swaps; requests under way end with
   * what they began with. Rejects and keeps the old on any mistake, with RG_RELOAD_REFUSED where those samples fare
   * otherwise than they may. One after the other.
   */
  reload(): Promise<void>
  /** `leave` was called: whoever chooses between gateways had better choose another. */
  readonly isLeaving: boolean
  /** Is not ready from here on, yet scores what comes; resolves after `shutdown.pre_stop_s`, the time for `close`. */
  leave(): Promise<void>
  /** Refuses new requests, waits at most `graceMs` for those in progress, then ends workers and pools. */
  close(graceMs?: number): Promise<void>
}

/** What is served, and what tests replace. */
export interface GatewayOptions extends Omit<RuntimeOptions, 'clock' | 'secret' | 'guard'> {
  readonly clock?: Clock
  /** Key of the fences around untrusted text; random by default. */
  readonly secret?: string
  /** Calls every listener; by default its failures are warnings of the process. */
  readonly guard?: ListenerGuard
}

/** Opens everything or throws RG_CONFIG_INVALID or RG_FUNCTION_INVALID with all mistakes. */
export async function openGateway(options: GatewayOptions): Promise<Gateway> {
  const clock = options.clock ?? systemClock
  const guard = options.guard ?? warningGuard(clock)
  const parts: RuntimeOptions = {
    ...options,
    clock,
    guard,
    events: guardedEvents(guard, options.events ?? {}, gatewayRooms),
    secret: options.secret ?? randomBytes(32).toString('hex'),
  }
  const served = await openReloader(parts)
  let isLeaving = false
  const planOf = (name: string): Plan => {
    const { plans } = served.newest
    const plan = plans.get(name)
    if (plan) return plan
    throw new GatewayError('RG_REWARD_UNKNOWN', `no reward '${name}'${didYouMean(name, plans.keys())}`)
  }
  return {
    version: packageVersion,
    get settings() {
      return served.newest.settings
    },
    score: (job) => scoreBy(served.current(), planOf(job.reward), guardedJob(guard, job), clock),
    rewards: () => [...served.newest.plans.values()],
    reward: planOf,
    readReply: (reward, step, sample, text) =>
      readReply(served.newest.functions, planOf(reward), step, sample, text),
    functions() {
      const { functions } = served.newest
      return Promise.all(functions.names.map((name) => functions.describe(name)))
    },
    models: () => served.newest.models.snapshot(),
    async forward(model, request) {
      const { passing, settings } = served.current()
      return passing.forward(model, { ...request, deadline: clock.now() + settings.limits.deadline_s * 1000 })
    },
    get pools() {
      return served.newest.models
    },
    get keys() {
      return served.newest.keys
    },
    guard,
    missing: () =>
      served.isClosing || isLeaving ? ['the gateway is closing'] : missingModels(served.newest),
    get isReady() {
      return !served.isClosing && !isLeaving && isReady(served.newest)
    },
    suspects: (reward) =>
      suspectsOf(served.newest, reward === undefined ? served.newest.plans.values() : [planOf(reward)]),
    get inFlight() {
      return served.newest.engine.inFlight
    },
    get lastReload() {
      return served.lastReload
    },
    reload: () => served.reload(),
    get isLeaving() {
      return isLeaving
    },
    leave() {
      isLeaving = true
      const ms = served.newest.settings.shutdown.pre_stop_s * 1000
      return ms > 0 ? new Promise((resolve) => clock.after(ms, resolve)) : Promise.resolve()
    },
    close: (graceMs = served.newest.settings.shutdown.grace_s * 1000) => served.close(graceMs),
  }
}

/** Calls listeners; their failures are warnings of the process. */
export const warningGuard = (clock: Clock): ListenerGuard => new ListenerGuard(clock, { told: warn })

const warn = ({ listener, fault, failures }: ListenerFailure): void =>
  process.emitWarning(`${listener} ${fault}; ${failures} failures, no sample is touched`, {
    code: 'RG_LISTENER',
  })

/** One instance of a model, by its address. */
interface Suspect {
  readonly model: string
  readonly instance: string
}

/** Instances of these plans' models that fail their canaries. */
function suspectsOf({ models }: Runtime, plans: Iterable<Plan>): readonly Suspect[] {
  return neededBy(plans, models.snapshot()).flatMap(({ name, instances }) =>
    instances
      .filter(({ state }) => state === 'fails-canary')
      .map(({ address }) => ({ model: name, instance: address })),
  )
}

/** What is needed before every plan can be scored, in words: models without a living instance. */
const missingModels = (serving: Runtime): readonly string[] =>
  withoutInstance(serving).map(({ name }) => `model '${name}' has no instance that answers`)

/**
 * Whether requests had better come here: each model has a living instance, or had one and its questions wait for the next.
 * Where a judge restarts, it is away for every gateway at once: one that says no would only lose the requests that it can hold.
 */
const isReady = (serving: Runtime): boolean => withoutInstance(serving).every(({ isPatient }) => isPatient)

function withoutInstance({ plans, models }: Runtime): readonly ModelSnapshot[] {
  return neededBy(plans.values(), models.snapshot()).filter(({ instances }) => !instances.some(isUsable))
}

function neededBy(plans: Iterable<Plan>, models: readonly ModelSnapshot[]): readonly ModelSnapshot[] {
  const needed = new Set([...plans].flatMap(({ steps }) => steps.flatMap((step) => step.models)))
  return models.filter(({ name }) => needed.has(name))
}

/** A sleeping instance wakes when it is needed. */
const isUsable = ({ state }: InstanceSnapshot): boolean => state === 'ready' || state === 'asleep'

/** What a step reads in a judge's text; all null: it found no verdict. */
interface ReadReply {
  readonly score: Score | null
  readonly failure: Failure | null
}

/** Reads a text as the step's first model's answer, guard and range checks included. Asks nobody. */
async function readReply(
  functions: FunctionHost,
  plan: Plan,
  name: string,
  sample: Sample,
  text: string,
): Promise<ReadReply> {
  const step = plan.steps.find((one) => one.name === name)
  if (step?.kind !== 'model' || step.ask !== 'generate' || step.critique) {
    const near = step
      ? ''
      : didYouMean(
          name,
          plan.steps.map((one) => one.name),
        )
    throw new GatewayError(
      'RG_REQUEST_INVALID',
      `${plan.name} has no step '${name}' that reads a verdict${near}`,
    )
  }
  const [model = ''] = step.models
  const whole = { text, finishReason: 'stop' }
  const said = (step.guards.get(model) ?? fullGuard).thoughts ? withoutThoughts(whole) : whole
  if (said === null) return { score: null, failure: null }
  const rows = [{ sample, earlier: {} }]
  const read = await functions.call({ op: 'postprocess', function: step.function, rows, answer: said })
  if (read.status === 'failed') return { score: null, failure: read.failure }
  return { score: (read.status === 'verdicts' ? read.verdicts[0] : null) ?? null, failure: null }
}

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
function guardedJob(guard: ListenerGuard, job: ScoreJob): ScoreJob {
  const { onOutcome, onDrawn } = job
  if (!onOutcome && !onDrawn) return job
  return {
    ...job,
    onOutcome: guard.callback('onOutcome', onOutcome),
    onDrawn: guard.callback('onDrawn', onDrawn),
  }
}

/** Scores with what is served. Throws at once what the engine throws at once: a reply that streams has then not begun. */
function scoreBy({ settings, engine }: Runtime, plan: Plan, job: ScoreJob, clock: Clock): Promise<Scored> {
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

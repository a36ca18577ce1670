/**
 * The composition root: builds from configs, reward functions and model servers a gateway that scores samples. It knows no HTTP.
 * The server, the command line, the audit and the analysis all score through it.
 */

import { randomBytes } from 'node:crypto'
import { type Clock, systemClock } from '../../core/clock.ts'
import { GatewayError } from '../../core/errors.ts'
import { guardedEvents, type ListenerFailure, ListenerGuard } from '../../core/listener-guard.ts'
import { didYouMean } from '../../core/nearest-name.ts'
import { packageVersion } from '../../core/package-version.ts'
import type { Failure, Outcome, Sample, Score } from '../../core/sample/sample.ts'
import { withoutThoughts } from '../engine/guard/row-texts.ts'
import type { RowsToScore } from '../engine/job.ts'
import type { FunctionDescription, FunctionHost } from '../functions/function-host.ts'
import type { ForwardReply, ForwardRequest } from '../models/interface/ask.ts'
import { fullGuard } from '../models/interface/model-config.ts'
import type { InstanceSnapshot, ModelSnapshot, Models } from '../models/models.ts'
import type { GatewaySettings } from '../plan/gateway-config.ts'
import { askedModels, type Plan } from '../plan/plan.ts'
import { type OnInvalidSetting, onInvalidOf } from '../plan/reward-config.ts'
import type { SandboxSnapshot } from '../sandboxes/sandbox.ts'
import type { Keys } from './keys.ts'
import { gatewayRooms, type LastReload, openReloader, type Runtime, type RuntimeOptions } from './runtime.ts'

export type { VoteEvent } from '../engine/events.ts'
export { WaitTime } from '../engine/job.ts'
export type { ForwardReply as Forwarded, KeptAnswer, KeptAnswers } from '../models/interface/ask.ts'
export { AskError } from '../models/interface/ask.ts'
export type { ModelSnapshot } from '../models/models.ts'
export type { SandboxSnapshot } from '../sandboxes/sandbox.ts'

/** The model operations of the admin API. */
type Pools = Pick<Models, 'names' | 'addInstance' | 'drainInstance' | 'removeInstance' | 'sleep' | 'wake'>

/** The API for the server, the command line and tests. Whoever opens it closes it. */
export interface Gateway {
  readonly version: string
  readonly settings: GatewaySettings
  /**
   * Throws synchronously: RG_REWARD_UNKNOWN, RG_OVERLOADED, RG_REQUEST_TOO_LARGE, RG_CLOSING. Rejects only with
   * RG_SAMPLES_FAILED, if the reward says `on_invalid: fail`, and with RG_CLOSING, if `close` cut samples off. Otherwise every
   * row has an outcome.
   */
  score(job: GatewayJob): Promise<Scored>
  /** Every served plan. */
  rewards(): readonly Plan[]
  /** Throws RG_REWARD_UNKNOWN, with the nearest name. */
  reward(name: string): Plan
  /** Questions to models that a row of a reward asks on average, as its rows did so far. 0 if there is no such reward. */
  questionsPerRow(reward: string): number
  /** Parses a judge's text as the step would. Throws RG_REWARD_UNKNOWN, or RG_REQUEST_INVALID if the step parses no verdicts. */
  readReply(reward: string, step: string, sample: Sample, text: string): Promise<ReadReply>
  /** Every function that a config could use. Loads the unused ones too. */
  functions(): Promise<readonly FunctionDescription[]>
  models(): readonly ModelSnapshot[]
  sandboxes(): readonly SandboxSnapshot[]
  /** Forwards a client's request to a model. Rejects with RG_NOT_FOUND, RG_CLOSING or AskError. */
  forward(model: string, request: Omit<ForwardRequest, 'deadline'>): Promise<ForwardReply>
  /** Manages instances and memory of the served models. See Models for what each method throws. */
  readonly pools: Pools
  /** Read on first access. Throws RG_CONFIG_INVALID if keys are missing. */
  readonly keys: Keys
  /** Calls listeners; counts and logs what they throw. */
  readonly guard: ListenerGuard
  /** What is missing before every reward can be scored, in words: models and sandboxes without a usable instance. */
  missing(): readonly string[]
  /** True if every reward can be scored, now or when models that had an instance are back. Until then their questions wait. */
  readonly isReady: boolean
  /** Instances that fail their canaries and get no questions, for the models of one reward or of all. */
  suspects(reward?: string): readonly Suspect[]
  /** Rows in progress. */
  readonly inFlight: number
  /** Null if there was none. */
  readonly lastReload: LastReload | null
  /**
   * Reads configs and functions again, scores `reload.samples` with them, and switches to them. Requests in progress finish with
   * the configs that they began with. On any problem it rejects and keeps the old configs; RG_RELOAD_REFUSED means that samples
   * failed their checks. Calls run one after another.
   */
  reload(): Promise<void>
  /** True once `leave` was called: load balancers should choose another gateway. */
  readonly isLeaving: boolean
  /**
   * Reports not ready from now on but still scores requests. Resolves after `shutdown.pre_stop_s`, when it is time to call
   * `close`.
   */
  leave(): Promise<void>
  /** Refuses new requests, waits at most `graceMs` for those in progress, then stops workers and pools. */
  close(graceMs?: number): Promise<void>
}

/** What to serve, and the parts that tests replace. */
export interface GatewayOptions extends Omit<RuntimeOptions, 'clock' | 'secret' | 'guard'> {
  readonly clock?: Clock
  /** Key for the fences around untrusted text; random by default. */
  readonly secret?: string
  /** Calls every listener. By default, failures are emitted as process warnings. */
  readonly guard?: ListenerGuard
}

/** Throws RG_CONFIG_INVALID or RG_FUNCTION_INVALID with all problems; then nothing stays open. */
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
    questionsPerRow(name) {
      const { plans, engine } = served.newest
      const plan = plans.get(name)
      return plan ? engine.questionsPerRow(plan) : 0
    },
    readReply: (reward, step, sample, text) =>
      readReply(served.newest.functions, planOf(reward), step, sample, text),
    functions() {
      const { functions } = served.newest
      return Promise.all(functions.names.map((name) => functions.describe(name)))
    },
    models: () => served.newest.models.snapshot(),
    sandboxes: () => served.newest.sandboxes.snapshot(),
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
    missing: () => (served.isClosing || isLeaving ? ['the gateway is closing'] : missingPools(served.newest)),
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

/** A guard that emits listener failures as process warnings. */
export const warningGuard = (clock: Clock): ListenerGuard => new ListenerGuard(clock, { told: warn })

const warn = ({ listener, fault, failures }: ListenerFailure): void =>
  process.emitWarning(`${listener} ${fault}; ${failures} failures; no sample is affected`, {
    code: 'RG_LISTENER',
  })

/** An instance of a model; `instance` is its address. */
interface Suspect {
  readonly model: string
  readonly instance: string
}

function suspectsOf({ models }: Runtime, plans: Iterable<Plan>): readonly Suspect[] {
  return neededBy(plans, models.snapshot()).flatMap(({ name, instances }) =>
    instances
      .filter(({ state }) => state === 'fails-canary')
      .map(({ address }) => ({ model: name, instance: address })),
  )
}

const missingPools = (serving: Runtime): readonly string[] => [
  ...withoutInstance(serving).map(({ name }) => `model '${name}' has no instance that answers`),
  ...withoutServer(serving).map(({ name }) => `sandbox '${name}' has no server that answers`),
]

/**
 * True if each model has a usable instance, or had one and its questions wait for the next. A restarting judge is away for every
 * gateway at once; reporting not ready would only lose requests that this gateway can hold.
 */
const isReady = (serving: Runtime): boolean =>
  [...withoutInstance(serving), ...withoutServer(serving)].every(({ isPatient }) => isPatient)

function withoutInstance({ plans, models }: Runtime): readonly ModelSnapshot[] {
  return neededBy(plans.values(), models.snapshot()).filter(({ instances }) => !instances.some(isUsable))
}

function withoutServer({ plans, sandboxes }: Runtime): readonly SandboxSnapshot[] {
  const needed = new Set([...plans.values()].flatMap(({ steps }) => steps.map(({ sandbox }) => sandbox)))
  return sandboxes
    .snapshot()
    .filter(({ name, instances }) => needed.has(name) && !instances.some(({ state }) => state === 'ready'))
}

function neededBy(plans: Iterable<Plan>, models: readonly ModelSnapshot[]): readonly ModelSnapshot[] {
  const needed = new Set([...plans].flatMap(({ steps }) => steps.flatMap(askedModels)))
  return models.filter(({ name }) => needed.has(name))
}

/** A sleeping instance wakes on demand. */
const isUsable = ({ state }: InstanceSnapshot): boolean => state === 'ready' || state === 'asleep'

/** The result of parsing a judge's text; both null: no verdict found. */
interface ReadReply {
  readonly score: Score | null
  readonly failure: Failure | null
}

/**
 * Parses a text as an answer of the step's first model, including guard and range checks: to its question, or to the first of
 * several. Calls no model.
 */
async function readReply(
  functions: FunctionHost,
  plan: Plan,
  name: string,
  sample: Sample,
  text: string,
): Promise<ReadReply> {
  const step = plan.steps.find((one) => one.name === name)
  const reads = step?.kind === 'model' || step?.kind === 'questions'
  if (!step || !reads || step.ask !== 'generate' || step.critique) {
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
  const call = { op: 'postprocess', function: step.function, rows, answer: said } as const
  const read = await functions.call(step.kind === 'questions' ? { ...call, at: 0 } : call)
  if (read.status === 'failed') return { score: null, failure: read.failure }
  return { score: (read.status === 'verdicts' ? read.verdicts[0] : null) ?? null, failure: null }
}

/** What a caller of the gateway asks for: rows, and the name of the reward that scores them. */
export interface GatewayJob extends RowsToScore {
  readonly reward: string
  /** Milliseconds from now. The shortest of this, the reward's and the gateway's deadline applies. */
  readonly deadlineMs?: number | undefined
  /** Overrides the reward's `on_invalid`. */
  readonly onInvalid?: OnInvalidSetting | undefined
  /**
   * Other members of the rows' groups arrive in separate requests, even if the reward has no `group.wait_s`. Waits for them for
   * at most half of the available time.
   */
  readonly holdsGroups?: boolean | undefined
}

export interface Scored {
  /** One per row, in row order. */
  readonly outcomes: readonly Outcome[]
  /** The version of the config that scored all rows. */
  readonly version: string
}

/** The same job with its callbacks wrapped by the guard. */
function guardedJob(guard: ListenerGuard, job: GatewayJob): GatewayJob {
  const { onBegan, onRules, onOutcome, onVote } = job
  if (!onBegan && !onRules && !onOutcome && !onVote) return job
  return {
    ...job,
    onBegan: guard.callback('onBegan', onBegan),
    onRules: guard.callback('onRules', onRules),
    onOutcome: guard.callback('onOutcome', onOutcome),
    onVote: guard.callback('onVote', onVote),
  }
}

/** Scores with the current runtime. Throws synchronously what the engine throws synchronously, before a streamed reply begins. */
function scoreBy(runtime: Runtime, plan: Plan, job: GatewayJob, clock: Clock): Promise<Scored> {
  const { settings, engine } = runtime
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
    arrived,
    earlier,
    isRefusable,
    bodyBytes,
    answers,
    onBegan,
    onRules,
    onOutcome,
    onVote,
  } = job
  const onScored =
    onOutcome &&
    ((index: number, outcome: Outcome) => {
      if (!isCut(runtime, outcome)) onOutcome(index, outcome)
    })
  // Written out: see the step context in engine.ts.
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
    arrived,
    earlier,
    isRefusable,
    bodyBytes,
    answers,
    onBegan,
    onRules,
    onOutcome: onScored,
    onVote,
  })
  return scoring.then((outcomes) => answered(outcomes, served, runtime))
}

/** Whether a sample was left without a reward because its gateway was stopped. It has none yet, and no failure. */
const isCut = ({ isOver }: Runtime, outcome: Outcome): boolean =>
  isOver && !outcome.valid && outcome.failure.kind === 'cancelled'

function answered(outcomes: readonly Outcome[], { onInvalid, version }: Plan, runtime: Runtime): Scored {
  if (runtime.isOver && outcomes.some((outcome) => isCut(runtime, outcome)))
    throw new GatewayError(
      'RG_CLOSING',
      'the gateway was stopped before all samples were scored; send this again',
    )
  const invalid = outcomes.filter(({ valid }) => !valid).length
  if (onInvalid.kind === 'fail' && invalid > 0) {
    throw new GatewayError('RG_SAMPLES_FAILED', `${invalid} of ${outcomes.length} samples have no reward`)
  }
  return { outcomes, version }
}

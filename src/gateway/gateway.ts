/**
 * The composition root: configs, reward functions and model servers become one thing that scores samples. It knows no
 * HTTP; the server, the command line, the audit and the analysis all score through it.
 */
import { randomBytes } from 'node:crypto'
import { type Clock, systemClock } from '../clock.ts'
import type { DrawnEvent } from '../engine/events.ts'
import type { ModelTime } from '../engine/model-time.ts'
import { GatewayError } from '../errors.ts'
import type { FunctionDescription } from '../functions/function-host.ts'
import type { Forwarded, ForwardRequest } from '../models/forwarded.ts'
import type { InstanceSnapshot, ModelSnapshot, Models } from '../models/models.ts'
import { didYouMean } from '../nearest-name.ts'
import { packageVersion } from '../package-version.ts'
import type { GatewaySettings } from '../plan/gateway-config.ts'
import type { OnInvalid, Plan } from '../plan/plan.ts'
import { rewardRange } from '../plan/reward-range.ts'
import type { Outcome } from '../sample/outcome.ts'
import type { Sample, Unreadable } from '../sample/sample.ts'
import { openMonitors, type WatchedRun } from '../telemetry/monitors/monitors.ts'
import type { Trace } from '../tracing/trace.ts'
import type { Keys } from './keys.ts'
import { allOf } from './listeners.ts'
import { type ReadReply, readReply } from './read-reply.ts'
import { rehearsed } from './rehearsal-of.ts'
import { type LastReload, reloadEnded } from './reloads.ts'
import { openServing, type Serving, type ServingOptions } from './serving.ts'

export type { DrawnEvent } from '../engine/events.ts'
export { ModelTime } from '../engine/model-time.ts'
export type { Forwarded } from '../models/forwarded.ts'
export { AskError, type ModelSnapshot } from '../models/models.ts'

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
  readonly onInvalid?: OnInvalid
  /** Refused with RG_OVERLOADED where its questions would wait too long for their models; absent: they wait. */
  readonly isRefusable?: boolean
  /** Called once a row, as soon as its outcome is final; in any order. */
  readonly onOutcome?: (index: number, outcome: Outcome) => void
  /** Called for each draw of a question, before the outcomes that it counts in. */
  readonly onDrawn?: (event: DrawnEvent) => void
}

export interface Scored {
  /** One a row, in the order of the rows. */
  readonly outcomes: readonly Outcome[]
  /** Of the config that scored all of them. */
  readonly version: string
}

/** What the admin API may do with models. */
export type Pools = Pick<
  Models,
  'names' | 'addInstance' | 'drainInstance' | 'removeInstance' | 'sleep' | 'wake'
>

export interface Gateway {
  /** The package's version. */
  readonly version: string
  readonly settings: GatewaySettings
  /**
   * Throws at once: RG_REWARD_UNKNOWN, RG_OVERLOADED, RG_CLOSING. Rejects only with RG_SAMPLES_FAILED, where the reward
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
  forward(model: string, request: Omit<ForwardRequest, 'deadline'>): Promise<Forwarded>
  /** Instances and memory of the models that are served now; see Models for what each throws. */
  readonly pools: Pools
  /** Who may call; read when first asked for. Throws RG_CONFIG_INVALID where keys are missing. */
  readonly keys: Keys
  /** What is needed before every reward can be scored: the models without a living instance. */
  missing(): readonly string[]
  /** Instances that fail their canaries and get no questions, of the models of one reward or of all. */
  suspects(reward?: string): readonly { readonly model: string; readonly instance: string }[]
  /** What the monitors watch, of one reward or of all. */
  runs(reward?: string): readonly WatchedRun[]
  /** Rows in work. */
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
  /** Is not ready from here on, yet scores what comes; resolves after `limits.leave_s`, the time for `close`. */
  leave(): Promise<void>
  /** Refuses what comes from here on, waits for what is in work (at most `graceMs`), then ends workers and pools. */
  close(graceMs?: number): Promise<void>
}

export interface GatewayOptions extends Omit<ServingOptions, 'clock' | 'secret'> {
  readonly clock?: Clock
  /** Key of the fences around untrusted text; random by default. */
  readonly secret?: string
}

/** Opens everything or throws RG_CONFIG_INVALID or RG_FUNCTION_INVALID with all mistakes. */
export async function openGateway(options: GatewayOptions): Promise<Gateway> {
  const clock = options.clock ?? systemClock
  const { events } = options
  const monitors = openMonitors({
    clock,
    rangeOf: rewardRange,
    ...(events?.monitors && { events: events.monitors }),
  })
  const parts: ServingOptions = {
    ...options,
    clock,
    events: { ...events, engine: allOf([events?.engine, monitors]) },
    secret: options.secret ?? randomBytes(32).toString('hex'),
  }
  let serving = await openServing(parts)
  let closing = false
  let leaving = false
  let reloading: Promise<unknown> = Promise.resolve()
  const draining = new Set<Serving>()
  const ending = new AbortController()
  let lastReload: LastReload | null = null
  const planOf = (name: string): Plan => {
    const plan = serving.plans.get(name)
    if (plan) return plan
    throw new GatewayError(
      'RG_REWARD_UNKNOWN',
      `no reward '${name}'${didYouMean(name, serving.plans.keys())}`,
    )
  }
  return {
    version: packageVersion,
    get settings() {
      return serving.settings
    },
    score(job) {
      if (closing) throw isClosing()
      return scoreWith(serving, planOf(job.reward), job, clock)
    },
    rewards: () => [...serving.plans.values()],
    reward: planOf,
    readReply: (reward, step, sample, text) =>
      readReply(serving.functions, planOf(reward), step, sample, text),
    functions: () => Promise.all(serving.functions.names.map((name) => serving.functions.describe(name))),
    models: () => serving.models.snapshot(),
    async forward(model, request) {
      if (closing) throw isClosing()
      const deadline = clock.now() + serving.settings.limits.deadline_s * 1000
      return serving.passing.forward(model, { ...request, deadline })
    },
    get pools() {
      return serving.models
    },
    get keys() {
      return serving.keys
    },
    missing: () => (closing || leaving ? ['the gateway is closing'] : missingModels(serving)),
    suspects: (reward) =>
      suspectsOf(serving, reward === undefined ? serving.plans.values() : [planOf(reward)]),
    runs: (reward) => monitors.runs(reward),
    get inFlight() {
      return serving.engine.inFlight
    },
    get lastReload() {
      return lastReload
    },
    reload() {
      const done = reloading.then(async () => {
        if (closing) throw isClosing()
        const old = serving
        const next = await openServing(parts, old)
        try {
          await rehearsed(next, old, { clock, signal: ending.signal })
        } catch (error) {
          await next.close(0)
          throw error
        }
        serving = next
        draining.add(old)
        // No request lives longer than its deadline.
        void old.close(old.settings.limits.deadline_s * 1000).then(() => draining.delete(old))
      })
      const ended = (refusal: unknown) => {
        lastReload = reloadEnded(refusal)
        events?.reloads?.ended?.(refusal)
      }
      reloading = done.then(
        () => ended(null),
        (refusal) => closing || ended(refusal),
      )
      return done
    },
    get isLeaving() {
      return leaving
    },
    leave() {
      leaving = true
      const ms = serving.settings.limits.leave_s * 1000
      return ms > 0 ? new Promise((resolve) => clock.after(ms, resolve)) : Promise.resolve()
    },
    async close(graceMs = serving.settings.limits.drain_s * 1000) {
      closing = true
      ending.abort()
      await reloading
      await Promise.all([serving, ...draining].map((one) => one.close(graceMs)))
    },
  }
}

const isClosing = (): GatewayError =>
  new GatewayError('RG_CLOSING', 'the gateway is closing; send this to another one, or later')

/** Throws at once what the engine throws at once: a reply that streams has then not begun. */
function scoreWith(serving: Serving, plan: Plan, job: ScoreJob, clock: Clock): Promise<Scored> {
  const { deadlineMs = Number.POSITIVE_INFINITY, onInvalid = plan.onInvalid } = job
  const longest = serving.settings.limits.deadline_s * 1000
  const patience = Math.min(deadlineMs, plan.deadlineMs ?? Number.POSITIVE_INFINITY, longest)
  const served = onInvalid === plan.onInvalid ? plan : { ...plan, onInvalid }
  const scoring = serving.engine.score({ ...job, plan: served, deadline: clock.now() + patience })
  return scoring.then((outcomes) => answered(outcomes, served))
}

function answered(outcomes: readonly Outcome[], { onInvalid, version }: Plan): Scored {
  const invalid = outcomes.filter(({ valid }) => !valid).length
  if (onInvalid.kind === 'fail' && invalid > 0) {
    throw new GatewayError('RG_SAMPLES_FAILED', `${invalid} of ${outcomes.length} samples have no reward`)
  }
  return { outcomes, version }
}

function suspectsOf(
  { models }: Serving,
  plans: Iterable<Plan>,
): readonly { readonly model: string; readonly instance: string }[] {
  const needed = new Set([...plans].flatMap(({ steps }) => steps.flatMap((step) => step.models)))
  return models
    .snapshot()
    .filter(({ name }) => needed.has(name))
    .flatMap(({ name, instances }) =>
      instances
        .filter(({ state }) => state === 'suspect')
        .map(({ address }) => ({ model: name, instance: address })),
    )
}

function missingModels({ plans, models }: Serving): readonly string[] {
  const needed = new Set([...plans.values()].flatMap(({ steps }) => steps.flatMap((step) => step.models)))
  return models
    .snapshot()
    .filter(({ name, instances }) => needed.has(name) && !instances.some(isUsable))
    .map(({ name }) => `model '${name}' has no instance that answers`)
}

/** A sleeping instance wakes when it is needed. */
const isUsable = ({ state }: InstanceSnapshot): boolean => state === 'ready' || state === 'asleep'

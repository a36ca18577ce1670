import { withoutSecrets } from '../../../core/secrets.ts'
import type { ModelSnapshot, SandboxSnapshot } from '../../../scoring/gateway/gateway.ts'
import type { ObservedGateway } from '../../observed-gateway.ts'
import type { overviewOf } from '../../queue/overview.ts'
import type { LiveView } from '../../telemetry/live/live.ts'
import { type ShownReward, shownReward } from '../../telemetry/live/series.ts'
import type { RowSummary } from '../../telemetry/live/shown-row.ts'
import { historyOf, type RunHistory, type RunStats, statsOf } from '../../telemetry/monitors/run-stats.ts'
import type { RunStalls } from '../../telemetry/stalls.ts'

type Plan = ReturnType<ObservedGateway['rewards']>[number]

/** Rows in the first message and in later ones. */
const firstRows = 400
const rowsPerTick = 48

export function servedMessage(gateway: ObservedGateway, live: LiveView, hasQueue: boolean): Served {
  return {
    version: gateway.version,
    text: live.policy,
    has_admin: gateway.keys.scopes.has('admin'),
    has_queue: hasQueue,
    rewards: withoutSecrets(gateway.rewards().map(writePlan)) as ServedReward[],
  }
}

/** Changes when other configs are served. */
export const servedKey = (gateway: ObservedGateway, live: LiveView): string =>
  [live.policy, ...gateway.rewards().map(({ name, version }) => `${name} ${version}`)].join('\n')

export function statusMessage(gateway: ObservedGateway): PoolStatus {
  return {
    in_flight: gateway.inFlight,
    models: gateway.models().map(shownModel),
    sandboxes: gateway.sandboxes().map(shownSandbox),
    runs: gateway.runs().map((run) => ({ reward: run.reward, ...statsOf(run), ...historyOf(run) })),
    stalls: gateway.stalls().map(({ run, steps }) => ({ run, steps })),
    missing: gateway.missing(),
    suspects: gateway.suspects(),
  }
}

/** Slots that changed after `since`, and rows after a serial. 0 and 0: everything that is kept. */
export function scoredMessage(live: LiveView, since: number, serial: number): Scored {
  const now = live.now()
  const rows = live.summaries(serial, since === 0 ? firstRows : rowsPerTick)
  return {
    now,
    oldest: live.oldest,
    rewards: Object.fromEntries(
      [...live.rewards].map(([name, tracked]) => [name, shownReward(tracked, now, since)]),
    ),
    rows,
  }
}

const writePlan = ({ name, version, description, gate, formula, arithmetic, steps }: Plan): ServedReward => ({
  name,
  version,
  description,
  gate: gate?.source ?? null,
  formula: formula?.source ?? null,
  arithmetic,
  steps: steps.map((step) => ({
    name: step.name,
    function: step.function.name,
    kind: step.kind,
    models: step.models,
    op: step.op,
    weight: step.weight(undefined),
    range: step.function.range.map((end) => (Number.isFinite(end) ? end : null)),
    when: step.when?.source ?? null,
    gated: step.gated,
  })),
})

/** `event: served`: sent when the configs change. */
export interface Served {
  readonly version: string
  readonly text: 'full' | 'hash' | 'none'
  /** Whether any API key has the scope `admin`. */
  readonly has_admin: boolean
  /** Whether GET /v1/queue has something to say. */
  readonly has_queue: boolean
  readonly rewards: readonly ServedReward[]
}

/** A reward as configured. */
export interface ServedReward {
  readonly name: string
  readonly version: string
  readonly description: string
  readonly gate: string | null
  readonly formula: string | null
  readonly arithmetic: 'strict' | 'published'
  readonly steps: readonly ServedStep[]
}

interface ServedStep {
  readonly name: string
  readonly function: string
  readonly kind: string
  readonly models: readonly string[]
  readonly op: 'add' | 'mul'
  /** The weight for requests that name no training step. */
  readonly weight: number
  /** Lower and upper bound; null if unbounded. */
  readonly range: readonly (number | null)[]
  readonly when: string | null
  readonly gated: boolean
}

/** `event: status`: the state of pools and runs. */
export interface PoolStatus {
  readonly in_flight: number
  readonly models: readonly ShownModel[]
  readonly sandboxes: readonly ShownSandbox[]
  readonly runs: readonly ShownRun[]
  readonly stalls: readonly ShownStalls[]
  readonly missing: readonly string[]
  readonly suspects: readonly { readonly model: string; readonly instance: string }[]
}

/** The last training steps of a run, the newest first, with what each waited for. */
export type ShownStalls = Pick<RunStalls, 'run' | 'steps'>

/** A run's figures and their history. */
export type ShownRun = RunStats & RunHistory & { readonly reward: string }

/** `event: scored`: slots and rows that changed since the last one; the first one has everything that is kept. */
export interface Scored {
  /** Milliseconds since the epoch. */
  readonly now: number
  /** When the oldest row was scored that can still be opened, in milliseconds since the epoch; null if there is none. */
  readonly oldest: number | null
  readonly rewards: Readonly<Record<string, ShownReward>>
  /** Newest first. */
  readonly rows: readonly RowSummary[]
}

/** What GET /v1/queue returns; the Runs view shows it. */
export type QueueOverview = Awaited<ReturnType<typeof overviewOf>>

/** The scopes of the page's key. */
export interface Access {
  readonly read: boolean
  readonly score: boolean
  readonly admin: boolean
}

/** A model and its pool, as the admin API and the page return it. */
export interface ShownModel extends ShownPool {
  readonly serves: string
  readonly backend: string
  readonly memory: string
}

/** The queue and the instances of a model or a sandbox. */
interface ShownPool {
  readonly name: string
  readonly waiting: number
  /** Questions that wait because no instance is available. */
  readonly parked: number
  /** ISO 8601 time since when questions wait; null if none does. */
  readonly parked_since: string | null
  readonly instances: readonly ShownInstance[]
}

/** A sandbox and the places where its programs run. */
export interface ShownSandbox extends ShownPool {
  readonly backend: string
  /** How programs are confined. */
  readonly confinement: string
  readonly is_confined: boolean
}

/** One instance of a model. */
export interface ShownInstance {
  readonly address: string
  readonly state: string
  readonly weight: number
  readonly in_flight: number
  readonly limit: number
  readonly latency_ms: number
  readonly calls: number
  readonly errors: number
}

/** The current state of a pool, in the API's format. */
export const shownModel = (model: ModelSnapshot): ShownModel => ({
  name: model.name,
  serves: model.serves,
  backend: model.backend,
  memory: model.memory,
  ...shownPool(model),
})

const shownSandbox = (sandbox: SandboxSnapshot): ShownSandbox => ({
  name: sandbox.name,
  backend: sandbox.backend,
  confinement: sandbox.confinement?.text ?? '',
  is_confined: sandbox.confinement?.isConfined ?? true,
  ...shownPool(sandbox),
})

function shownPool({ waiting, parked, instances }: ModelSnapshot | SandboxSnapshot): Omit<ShownPool, 'name'> {
  return {
    waiting,
    parked: parked?.questions ?? 0,
    parked_since: parked ? new Date(parked.since).toISOString() : null,
    instances: instances.map((instance) => ({
      address: instance.address,
      state: instance.state,
      weight: instance.weight,
      in_flight: instance.inFlight,
      limit: instance.limit,
      latency_ms: Math.round(instance.latencyMs * 10) / 10,
      calls: instance.calls,
      errors: instance.errors,
    })),
  }
}

/** All metrics, their exposition, and those of the server itself: reloads, the record, monitors, stalls, listeners. */

import { setTimeout as after } from 'node:timers/promises'
import type { Metric, Registry } from 'prom-client'
import { type Clock, systemClock } from '../../../core/clock.ts'
import type { CanaryEvents } from '../../../scoring/canary/canary.ts'
import type { EngineEvents } from '../../../scoring/engine/events.ts'
import type { FunctionEvents } from '../../../scoring/functions/function-host.ts'
import type { ModelEvents } from '../../../scoring/models/interface/events.ts'
import type { ModelSnapshot } from '../../../scoring/models/models.ts'
import type { SandboxEvents, SandboxSnapshot } from '../../../scoring/sandboxes/sandbox.ts'
import type { WatchedRun } from '../monitors/monitors.ts'
import { figures } from '../monitors/run-figures.ts'
import type { RecordEvents } from '../record/record.ts'
import type { RunStalls } from '../stalls.ts'
import { criterionMetrics } from './criterion-metrics.ts'
import { type ExposedMetric, type Instruments, instruments } from './instruments.ts'
import { type QueueFigures, type QueueMetrics, queueMetrics } from './queue-metrics.ts'
import {
  canaryMetrics,
  engineMetrics,
  exposePools,
  functionMetrics,
  modelMetrics,
  type RequestMetrics,
  requestMetrics,
} from './request-metrics.ts'
import { exposeSandboxes, sandboxMetrics } from './sandbox-metrics.ts'

/**
 * Prometheus metrics, fed by events. Label values come from closed sets (rewards, steps, models, kinds). The few that
 * requests bring along (runs, criteria) are bounded by what counts them.
 */
export interface Metrics extends Omit<Exposition, 'make'> {
  readonly engine: EngineEvents
  readonly models: ModelEvents
  readonly functions: FunctionEvents
  readonly sandboxes: SandboxEvents
  readonly record: RecordEvents
  readonly canary: CanaryEvents
  readonly reloads: ReloadMetrics
  readonly requests: RequestMetrics
  readonly queue: QueueMetrics
  /** Counts an error that a listener or callback threw. */
  readonly listenerFailed: (listener: string) => void
}

/** Gauges are read from here on each scrape. */
interface Sources {
  readonly version: string
  /** Default: the system's. */
  readonly clock?: Clock
  inFlight(): number
  /** The current state of every pool. */
  models?(): readonly ModelSnapshot[]
  /** The current state of every sandbox. */
  sandboxes?(): readonly SandboxSnapshot[]
  /** Every training run with monitors. */
  runs?(): readonly WatchedRun[]
  /** What the training steps of each run waited for. */
  stalls?(): readonly RunStalls[]
  /** null: there is no queue. */
  queue?(): QueueFigures | null
}

/** Opens a separate registry with the process's default metrics and the gateway's; `close` empties it. */
export function openMetrics(sources: Sources): Metrics {
  const { make, expose, close } = openExposition()
  return { ...metricsBy(make, sources), expose, close }
}

/** Metrics of a process that only runs programs. */
export function openSandboxMetrics(
  version: string,
  sandboxes: () => readonly SandboxSnapshot[],
): Omit<Exposition, 'make'> & { readonly events: SandboxEvents } {
  const { make, expose, close } = openExposition()
  make.gauge('build_info', 'Always 1; the label is the version.', () => 1, { version })
  exposeSandboxes(make, sandboxes)
  return { events: sandboxMetrics(make), expose, close }
}

/** Registers every metric of the gateway with `make`. Also used to list them in the docs. */
export function metricsBy(make: Instruments, sources: Sources): Omit<Metrics, 'expose' | 'close'> {
  make.gauge('samples_in_flight', 'Samples being scored.', () => sources.inFlight())
  make.gauge('build_info', 'Always 1; the label is the version.', () => 1, { version: sources.version })
  exposePools(make, () => sources.models?.() ?? [])
  exposeSandboxes(make, () => sources.sandboxes?.() ?? [])
  exposeMonitors(make, () => sources.runs?.() ?? [])
  exposeStalls(make, () => sources.stalls?.() ?? [])
  return {
    engine: { ...engineMetrics(make), ...criterionMetrics(make, sources.clock ?? systemClock) },
    models: modelMetrics(make),
    functions: functionMetrics(make),
    sandboxes: sandboxMetrics(make),
    record: recordMetrics(make),
    canary: canaryMetrics(make),
    reloads: reloadMetrics(make),
    requests: requestMetrics(make),
    queue: queueMetrics(make, () => sources.queue?.() ?? null),
    listenerFailed: listenerMetrics(make),
  }
}

/** Exposes the monitors' figures. They are read on each scrape, so a forgotten run leaves no series behind. */
function exposeMonitors(make: Instruments, runs: () => readonly WatchedRun[]): void {
  const labels = ['reward', 'run'] as const
  for (const { name, help, read } of figures) {
    make.read('gauge', `run_${name}`, help, labels, () =>
      runs().flatMap(({ reward, run, monitor }) => {
        const value = read(monitor.recent)
        return value === null ? [] : [{ values: [reward, run], value }]
      }),
    )
  }
  make.read('gauge', 'run_rows', 'Rows that the figures of the run cover.', labels, () =>
    runs().map(({ reward, run, monitor }) => ({ values: [reward, run], value: monitor.recent.rows })),
  )
  make.read('gauge', 'run_invalid_rows', 'Rows without a reward among them.', [...labels, 'kind'], () =>
    runs().flatMap(({ reward, run, monitor }) =>
      [...monitor.recent.invalid].map(([kind, value]) => ({ values: [reward, run, kind], value })),
    ),
  )
  make.read(
    'gauge',
    'run_reward_without_accuracy',
    "1 if the reward rises while the rule's accuracy does not.",
    labels,
    () =>
      runs().map(({ reward, run, monitor }) => ({
        values: [reward, run],
        value: Number(monitor.trends.isSuspect),
      })),
  )
  make.read(
    'counter',
    'run_alarms_total',
    'Alarms by figure: drift (a mean left its past range) or reward_without_accuracy.',
    [...labels, 'figure', 'step'],
    () =>
      // Series start at 0: Prometheus sees no increase when a series first appears with 1.
      runs().flatMap(({ reward, run, monitor }) =>
        [
          ['drift', null] as const,
          ['reward_without_accuracy', null] as const,
          ...[...monitor.recent.terms.keys()].map((step) => ['drift', step] as const),
        ].map(([figure, step]) => ({
          values: [reward, run, figure, step ?? ''],
          value: monitor.alarmCount(figure, step),
        })),
      ),
  )
}

function exposeStalls(make: Instruments, runs: () => readonly RunStalls[]): void {
  make.read(
    'counter',
    'run_stall_seconds_total',
    'Time from the last arrival of a training step to its last reward, by what the last row waited for.',
    ['run', 'cause', 'model'],
    () =>
      runs().flatMap(({ run, shares }) =>
        shares.map(({ cause, model, ms }) => ({ values: [run, cause, model], value: ms / 1000 })),
      ),
  )
}

function recordMetrics(make: Instruments): RecordEvents {
  const rows = make.counter('records_total', 'Rows written to the record.', [])
  const bytes = make.counter('record_bytes_total', 'Compressed bytes written to the record.', [])
  const dropped = make.counter('records_dropped_total', 'Scored rows that were not recorded, by reason.', [
    'why',
  ])
  for (const why of ['queue', 'disk', 'fault'] as const) dropped(0, why)
  return {
    written(count, size) {
      rows(count)
      bytes(size)
    },
    dropped: (count, why) => dropped(count, why),
  }
}

/** Reload events, from the admin API, SIGHUP or --watch. */
interface ReloadMetrics {
  /** `refusal`: why the old configs stay; null if the new ones are served. */
  ended(refusal: unknown): void
}

function reloadMetrics(make: Instruments): ReloadMetrics {
  const reloads = make.counter('reloads_total', 'Reloads, by whether the new configs are served.', ['result'])
  for (const result of ['served', 'refused']) reloads(0, result)
  return { ended: (refusal) => reloads(1, refusal === null ? 'served' : 'refused') }
}

function listenerMetrics(make: Instruments): (listener: string) => void {
  const failures = make.counter(
    'listener_errors_total',
    'Errors thrown by listeners and callbacks. They never affect a sample.',
    ['listener'],
  )
  return (listener) => failures(1, listener)
}

/** What a scrape gets. */
interface Exposition {
  readonly make: Instruments
  /** The text and its content type. */
  expose(): Promise<{ readonly text: string; readonly contentType: string }>
  close(): void
}

/** Without a measurement prom-client says that the least delay of the event loop is 292 years. */
const firstDelayMs = 25

/**
 * Metrics of its own registry, with the process's default ones. prom-client is loaded with the first scrape: it and what it
 * imports are 30 ms and 12 MiB of a start. So the default counters (CPU, garbage collection) begin then.
 */
function openExposition(): Exposition {
  const own: ExposedMetric[] = []
  let opening: Promise<Registry> | null = null
  const opened = (): Promise<Registry> => {
    opening ??= openRegistry(own).catch((error) => {
      opening = null
      throw error
    })
    return opening
  }
  return {
    make: instruments((metric) => own.push(metric)),
    async expose() {
      const registry = await opened()
      return { text: await registry.metrics(), contentType: registry.contentType }
    },
    close: () =>
      void opening?.then(
        (registry) => registry.clear(),
        () => {},
      ),
  }
}

async function openRegistry(own: readonly ExposedMetric[]): Promise<Registry> {
  const { collectDefaultMetrics, Registry } = await import('prom-client')
  const registry = new Registry()
  collectDefaultMetrics({ register: registry, prefix: 'reward_gateway_' })
  for (const metric of own) registry.registerMetric(metric as unknown as Metric)
  await after(firstDelayMs)
  return registry
}

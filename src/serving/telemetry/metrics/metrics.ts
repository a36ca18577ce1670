import { collectDefaultMetrics, Registry } from 'prom-client'
import type { CanaryEvents } from '../../../scoring/canary/canary.ts'
import type { EngineEvents } from '../../../scoring/engine/events.ts'
import type { FunctionEvents } from '../../../scoring/functions/function-host.ts'
import type { ModelEvents } from '../../../scoring/models/api/events.ts'
import type { ModelSnapshot } from '../../../scoring/models/models.ts'
import { figures } from '../monitors/figures.ts'
import type { WatchedRun } from '../monitors/monitors.ts'
import type { RecordEvents } from '../record/record.ts'
import { type Instruments, instruments, overheadBuckets, secondBuckets } from './instruments.ts'
import {
  canaryMetrics,
  engineMetrics,
  exposePools,
  functionMetrics,
  modelMetrics,
} from './scoring-metrics.ts'

/** Prometheus metrics, fed by the events of the rooms. Labels come from closed sets: rewards, steps, models, kinds. */
export interface Metrics {
  readonly engine: EngineEvents
  readonly models: ModelEvents
  readonly functions: FunctionEvents
  readonly record: RecordEvents
  readonly canary: CanaryEvents
  readonly reloads: ReloadMetrics
  readonly requests: RequestMetrics
  /** Counts a failure of a listener. */
  readonly listenerFailed: (listener: string) => void
  /** The exposition text and its content type. */
  expose(): Promise<{ readonly text: string; readonly contentType: string }>
  close(): void
}

/** What is read when the metrics are asked for. */
interface Sources {
  readonly version: string
  inFlight(): number
  /** How every pool is. */
  models?(): readonly ModelSnapshot[]
  /** Every run that the monitors watch. */
  runs?(): readonly WatchedRun[]
}

/** A registry of its own, with the figures of the process beside the gateway's; `close` empties it. */
export function openMetrics(sources: Sources): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry, prefix: 'reward_gateway_' })
  return {
    ...metricsBy(instruments(registry), sources),
    expose: async () => ({ text: await registry.metrics(), contentType: registry.contentType }),
    close: () => registry.clear(),
  }
}

/** Every metric of the gateway's own, made by these instruments. */
export function metricsBy(make: Instruments, sources: Sources): Omit<Metrics, 'expose' | 'close'> {
  make.gauge('samples_in_flight', 'Samples in work.', () => sources.inFlight())
  make.gauge('build_info', '1; the version is the label.', () => 1, { version: sources.version })
  exposePools(make, () => sources.models?.() ?? [])
  exposeMonitors(make, () => sources.runs?.() ?? [])
  return {
    engine: engineMetrics(make),
    models: modelMetrics(make),
    functions: functionMetrics(make),
    record: recordMetrics(make),
    canary: canaryMetrics(make),
    reloads: reloadMetrics(make),
    requests: requestMetrics(make),
    listenerFailed: listenerMetrics(make),
  }
}

/** What the HTTP face tells. */
export interface RequestMetrics {
  /** Called once a request of a route has been answered; `overheadSeconds`: null where it was not measured. */
  answered(route: string, status: number, seconds: number, overheadSeconds: number | null): void
  /** A request of a wire that got the outcome of an earlier one with the same bytes. */
  repeated(wire: string): void
  /** A request that went beyond its key's own limits. */
  keyRefused(key: string, why: 'in_flight' | 'samples' | 'rate'): void
}

/** Of requests over HTTP, by route pattern, never by address. */
function requestMetrics(make: Instruments): RequestMetrics {
  const requests = make.histogram(
    'request_duration_seconds',
    'Time of a request.',
    ['route', 'status'],
    secondBuckets,
  )
  const overheads = make.histogram(
    'request_overhead_seconds',
    'Time of a request in which it waited neither for a model nor for other answers of its group: what the gateway itself took.',
    ['route'],
    overheadBuckets,
  )
  const repeats = make.counter(
    'repeats_total',
    'Requests of a wire that got the outcome of an earlier one with the same bytes.',
    ['wire'],
  )
  const refusals = make.counter('key_refusals_total', "Requests beyond their key's own limits.", [
    'key',
    'why',
  ])
  return {
    answered(route, status, seconds, overheadSeconds) {
      requests(seconds, route, String(status))
      if (overheadSeconds !== null) overheads(overheadSeconds, route)
    },
    repeated: (wire) => repeats(1, wire),
    keyRefused: (key, why) => refusals(1, key, why),
  }
}

/** The monitors as Prometheus metrics, read when they are asked for: a run that is forgotten leaves no series behind. */
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
  make.read('gauge', 'run_rows', 'Rows that the figures of the run speak of.', labels, () =>
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
    "1: the reward rises while the rule's accuracy does not.",
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
    'Alarms: a mean left its history (drift), reward without accuracy.',
    [...labels, 'figure', 'step'],
    () =>
      // Series begin at 0, since an increase from nothing to 1 is none to Prometheus.
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

/** Rows that were recorded, and those that were not. */
function recordMetrics(make: Instruments): RecordEvents {
  const rows = make.counter('records_total', 'Rows that were recorded.', [])
  const bytes = make.counter('record_bytes_total', 'Bytes of the record, compressed.', [])
  const dropped = make.counter('records_dropped_total', 'Rows that were scored and not recorded.', ['why'])
  for (const why of ['queue', 'disk', 'fault'] as const) dropped(0, why)
  return {
    written(count, size) {
      rows(count)
      bytes(size)
    },
    dropped: (count, why) => dropped(count, why),
  }
}

/** What is told of reloads, as the gateway tells it; it stands above this room. */
interface ReloadMetrics {
  /** `refusal`: why what was served stays; null: what was read is served. */
  ended(refusal: unknown): void
}

/** Counts reloads by what became of them. */
function reloadMetrics(make: Instruments): ReloadMetrics {
  const reloads = make.counter('reloads_total', 'Reloads, by whether what was read is served.', ['result'])
  for (const result of ['served', 'refused']) reloads(0, result)
  return { ended: (refusal) => reloads(1, refusal === null ? 'served' : 'refused') }
}

/** Counts failures of listeners and callbacks; the label is a closed set of names. */
function listenerMetrics(make: Instruments): (listener: string) => void {
  const failures = make.counter(
    'listener_errors_total',
    'Listeners and callbacks that threw or rejected; no sample is touched.',
    ['listener'],
  )
  return (listener) => failures(1, listener)
}

import { collectDefaultMetrics, Registry } from 'prom-client'
import type { CanaryEvents } from '../../../scoring/canary/canary.ts'
import type { EngineEvents } from '../../../scoring/engine/events.ts'
import type { FunctionEvents } from '../../../scoring/functions/events.ts'
import type { ModelEvents } from '../../../scoring/models/api/events.ts'
import type { ModelSnapshot } from '../../../scoring/models/models.ts'
import type { WatchedRun } from '../monitors/monitors.ts'
import type { RecordEvents } from '../record/record.ts'
import { canaryMetrics } from './canary-metrics.ts'
import { engineMetrics } from './engine-metrics.ts'
import { functionMetrics } from './function-metrics.ts'
import { type Instruments, instruments } from './instruments.ts'
import { listenerMetrics } from './listener-metrics.ts'
import { exposePools, modelMetrics } from './model-metrics.ts'
import { exposeMonitors } from './monitor-metrics.ts'
import { recordMetrics } from './record-metrics.ts'
import { type ReloadMetrics, reloadMetrics } from './reload-metrics.ts'
import { type RequestMetrics, requestMetrics } from './request-metrics.ts'

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
export interface Sources {
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

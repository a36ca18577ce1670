import { collectDefaultMetrics, Registry } from 'prom-client'
import type { CanaryEvents } from '../../canary/canary.ts'
import type { EngineEvents } from '../../engine/events.ts'
import type { FunctionEvents } from '../../functions/events.ts'
import type { ReloadEvents } from '../../gateway/reloads.ts'
import type { ModelEvents } from '../../models/events.ts'
import type { ModelSnapshot } from '../../models/models.ts'
import type { WatchedRun } from '../monitors/monitors.ts'
import type { RecordEvents } from '../record/record.ts'
import { canaryMetrics } from './canary-metrics.ts'
import { type Instruments, instruments, scoreBuckets, secondBuckets } from './instruments.ts'
import { exposePools, modelMetrics } from './model-metrics.ts'
import { exposeMonitors } from './monitor-metrics.ts'
import { reloadMetrics } from './reload-metrics.ts'
import { type RequestMetrics, requestMetrics } from './request-metrics.ts'

/** Prometheus metrics, fed by the events of the rooms. Labels come from closed sets: rewards, steps, models, kinds. */
export interface Metrics {
  readonly engine: EngineEvents
  readonly models: ModelEvents
  readonly functions: FunctionEvents
  readonly record: RecordEvents
  readonly canary: CanaryEvents
  readonly reloads: ReloadEvents
  readonly requests: RequestMetrics
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
  }
}

function engineMetrics(make: Instruments): EngineEvents {
  const samples = make.counter('samples_total', 'Samples answered, by whether they have a reward.', [
    'reward',
    'valid',
  ])
  const invalid = make.counter('samples_invalid_total', 'Samples without a reward.', ['reward', 'kind'])
  const terms = make.counter('terms_total', 'Terms: scored, text, off or failed.', [
    'reward',
    'step',
    'status',
  ])
  const scores = make.histogram('term_score', 'Scores of a term.', ['reward', 'step'], scoreBuckets)
  const gated = make.counter('gated_total', 'Steps that a closed gate saved.', ['reward', 'step'])
  const questions = make.counter('questions_total', 'Answered questions: by a call, by the cache, joined.', [
    'model',
    'source',
  ])
  const waits = make.histogram(
    'question_duration_seconds',
    'Time to the answer of a question.',
    ['model'],
    secondBuckets,
  )
  const guarded = make.counter(
    'guard_total',
    'Questions and answers in which a part of the guard had something to do.',
    ['reward', 'step', 'part'],
  )
  return {
    scored({ reward, outcome }) {
      samples(1, reward, String(outcome.valid))
      if (!outcome.valid) invalid(1, reward, outcome.failure.kind)
      for (const term of outcome.terms) {
        terms(1, reward, term.name, term.status)
        if (term.status === 'scored') scores(term.score.value, reward, term.name)
        if (term.status === 'off' && term.why === 'gate') gated(1, reward, term.name)
      }
    },
    asked({ model, source, ms }) {
      questions(1, model, source)
      waits(ms / 1000, model)
    },
    guarded({ reward, step, parts }) {
      for (const part of parts) guarded(1, reward, step, part)
    },
  }
}

function functionMetrics(make: Instruments): FunctionEvents {
  const calls = make.histogram(
    'function_duration_seconds',
    "Time in an author's code.",
    ['function', 'op', 'status'],
    secondBuckets,
  )
  const restarts = make.counter('worker_restarts_total', 'Workers that were ended.', ['function', 'why'])
  return (event) => {
    if (event.type === 'call') calls(event.ms / 1000, event.name, event.op, event.status)
    if (event.type === 'worker_restarted') restarts(1, event.name, event.why)
  }
}

function recordMetrics(make: Instruments): RecordEvents {
  const rows = make.counter('records_total', 'Rows that were recorded.', [])
  const bytes = make.counter('record_bytes_total', 'Bytes of the record, compressed.', [])
  const dropped = make.counter('records_dropped_total', 'Rows that were scored and not recorded.', ['why'])
  for (const why of ['queue', 'disk'] as const) dropped(0, why)
  return {
    written(count, size) {
      rows(count)
      bytes(size)
    },
    dropped: (count, why) => dropped(count, why),
  }
}

/** Metrics of what a request goes through: HTTP, the engine, functions, models and their instances, canaries. `metrics.ts` has the others. */

import { eachInSlices } from '../../../core/slices.ts'
import type { CanaryEvents } from '../../../scoring/canary/canary.ts'
import type { EngineEvents } from '../../../scoring/engine/events.ts'
import type { FunctionEvents } from '../../../scoring/functions/function-host.ts'
import type { ModelEvents } from '../../../scoring/models/interface/events.ts'
import type { ModelSnapshot } from '../../../scoring/models/models.ts'
import type { InstanceState } from '../../../scoring/models/pool/pool-member.ts'
import { type Instruments, overheadBuckets, scoreBuckets, secondBuckets } from './instruments.ts'

/** Events of the HTTP server. */
export interface RequestMetrics {
  /** `route`: the pattern, never the URL. `overheadSeconds`: null if it was not measured. */
  answered(route: string, status: number, seconds: number, overheadSeconds: number | null): void
  /** A trainer's request that was answered with the outcomes of an earlier identical one. */
  repeated(trainer: string): void
  /** A request that exceeded the limits of its API key. */
  keyRefused(key: string, why: 'in_flight' | 'samples' | 'rate'): void
}

/** Counts requests over HTTP. */
export function requestMetrics(make: Instruments): RequestMetrics {
  const requests = make.histogram(
    'request_duration_seconds',
    'Duration of HTTP requests.',
    ['route', 'status'],
    secondBuckets,
  )
  const overheads = make.histogram(
    'request_overhead_seconds',
    'Time the gateway itself spent on a request, without waiting for models or for other answers of a group.',
    ['route'],
    overheadBuckets,
  )
  const repeats = make.counter(
    'repeats_total',
    'Requests of trainers that were answered with the outcomes of an earlier identical request.',
    ['wire'],
  )
  const refusals = make.counter('key_refusals_total', 'Requests that exceeded the limits of their API key.', [
    'key',
    'why',
  ])
  return {
    answered(route, status, seconds, overheadSeconds) {
      requests(seconds, route, String(status))
      if (overheadSeconds !== null) overheads(overheadSeconds, route)
    },
    repeated: (trainer) => repeats(1, trainer),
    keyRefused: (key, why) => refusals(1, key, why),
  }
}

const statuses = ['scored', 'text', 'off', 'failed'] as const

/** Counts samples, terms, judge questions and interventions of the guard. */
export function engineMetrics(make: Instruments): EngineEvents {
  const samples = make.counter('samples_total', 'Scored samples, by whether they got a reward.', [
    'reward',
    'valid',
  ])
  const invalid = make.counter('samples_invalid_total', 'Samples without a reward.', ['reward', 'kind'])
  const terms = make.counter('terms_total', 'Terms by status: scored, text, off or failed.', [
    'reward',
    'step',
    'status',
  ])
  const scores = make.histogram('term_score', 'Scores of a step.', ['reward', 'step'], scoreBuckets)
  const gated = make.counter('gated_total', 'Steps skipped because the gate was closed.', ['reward', 'step'])
  const questions = make.counter(
    'questions_total',
    'Answered judge questions, by source: call, cache or joined (shared with an identical question).',
    ['model', 'source'],
  )
  const waits = make.histogram(
    'question_duration_seconds',
    'Time from a judge question to its answer.',
    ['model'],
    secondBuckets,
  )
  const escalations = make.counter(
    'escalations_total',
    'Decisions that a second judge was asked about, because the first one was not sure.',
    ['reward', 'step'],
  )
  const guarded = make.counter(
    'guard_total',
    'Questions and answers that a part of the prompt guard changed or refused.',
    ['reward', 'step', 'part'],
  )
  return {
    done({ plan: { name: reward, steps }, rows, outcomes }) {
      let valid = 0
      let without = 0
      const ends = steps.map(() => ({ scored: 0, text: 0, off: 0, failed: 0 }))
      const count = (index: number): void => {
        const row = rows[index]
        const outcome = outcomes[index]
        if (!row || 'failure' in row || !outcome) return
        if (outcome.valid) valid += 1
        else {
          without += 1
          invalid(1, reward, outcome.failure.kind)
        }
        for (let at = 0; at < outcome.terms.length; at++) {
          const term = outcome.terms[at]
          const end = ends[at]
          if (!term || !end) continue
          end[term.status] += 1
          if (term.status === 'scored') scores(term.score.value, reward, term.name)
          else if (term.status === 'off' && term.why === 'gate') gated(1, reward, term.name)
        }
      }
      const sum = (): void => {
        if (valid > 0) samples(valid, reward, 'true')
        if (without > 0) samples(without, reward, 'false')
        for (const [at, end] of ends.entries())
          for (const status of statuses)
            if (end[status] > 0) terms(end[status], reward, steps[at]?.name ?? '', status)
      }
      return eachInSlices(outcomes.length, count, sum)
    },
    voted({ model, answered, ms }) {
      if (!answered) return
      questions(1, model, answered.source)
      waits(ms / 1000, model)
    },
    escalated: ({ reward, step }) => escalations(1, reward, step),
    guarded({ reward, step, parts }) {
      for (const part of parts) guarded(1, reward, step, part)
    },
  }
}

/** Counts calls of reward functions, their failures and worker restarts. */
export function functionMetrics(make: Instruments): FunctionEvents {
  const calls = make.histogram(
    'function_duration_seconds',
    'Time spent in reward functions.',
    ['function', 'op', 'status'],
    secondBuckets,
  )
  const failures = make.counter(
    'function_failures_total',
    'Calls that failed because of the function: it threw, timed out, ended its process or returned an invalid verdict.',
    ['function', 'op', 'cause'],
  )
  const restarts = make.counter('worker_restarts_total', 'Workers that were terminated, by reason.', [
    'function',
    'why',
  ])
  return {
    called: ({ ms, name, op, status }) => calls(ms / 1000, name, op, status),
    failed: ({ name, op, cause }) => failures(1, name, op, cause),
    restarted: ({ name, why }) => restarts(1, name, why),
  }
}

/** Counts calls to model servers, retries, hedges and changes of their state. */
export function modelMetrics(make: Instruments): ModelEvents {
  const calls = make.histogram(
    'upstream_duration_seconds',
    'Duration of calls to model servers.',
    ['model', 'outcome'],
    secondBuckets,
  )
  const waits = make.histogram(
    'upstream_queue_seconds',
    'Time that questions waited for an instance. Questions that did not wait are not counted.',
    ['model'],
    secondBuckets,
  )
  const tokens = make.counter('tokens_total', 'Prompt and completion tokens of judge calls.', [
    'model',
    'kind',
  ])
  const retries = make.counter('retries_total', 'Retries after failed calls.', ['model', 'kind'])
  const denied = make.counter('retries_denied_total', 'Retries that the retry budget denied.', ['model'])
  const hedges = make.counter('hedges_total', 'Hedge calls, sent because an answer was slow.', ['model'])
  const ejections = make.counter('ejections_total', 'Times an instance was taken out of its pool.', [
    'model',
    'instance',
  ])
  const returns = make.counter('readmissions_total', 'Times an instance was returned to its pool.', [
    'model',
    'instance',
  ])
  const refusals = make.counter(
    'instances_refused_total',
    'Addresses in an instances_file that the allow list rejected.',
    ['model'],
  )
  const switches = make.counter('memory_switches_total', 'Times a model was put to sleep or woken up.', [
    'model',
    'state',
  ])
  const failures = make.counter(
    'memory_failures_total',
    'Servers that failed to sleep or wake up, or that lost their weights.',
    ['model', 'order'],
  )
  return {
    callEnded({ model, outcome, ms, tokens: used }) {
      calls(ms / 1000, model, outcome)
      tokens(used.prompt, model, 'prompt')
      tokens(used.completion, model, 'completion')
    },
    queued: ({ model, ms }) => waits(ms / 1000, model),
    retried: ({ model, kind }) => retries(1, model, kind),
    retryDenied: ({ model }) => denied(1, model),
    hedged: ({ model }) => hedges(1, model),
    ejected: ({ model, instance }) => ejections(1, model, instance),
    readmitted: ({ model, instance }) => returns(1, model, instance),
    refused: ({ model }) => refusals(1, model),
    switched: ({ model, state }) => switches(1, model, state),
    orderFailed: ({ model, order }) => failures(1, model, order),
  }
}

const states = Object.keys({
  joining: true,
  ready: true,
  trial: true,
  ejected: true,
  draining: true,
  'other-model': true,
  'fails-canary': true,
  suspect: true,
  asleep: true,
} satisfies Record<InstanceState, true>)

/** Exposes the current state of every pool. */
export function exposePools(make: Instruments, models: () => readonly ModelSnapshot[]): void {
  make.read('gauge', 'upstream_waiting', 'Questions waiting for an instance.', ['model'], () =>
    models().map(({ name, waiting }) => ({ values: [name], value: waiting })),
  )
  make.read(
    'gauge',
    'questions_parked',
    'Questions waiting because no instance of their model is available.',
    ['model'],
    () => models().map(({ name, parked }) => ({ values: [name], value: parked?.questions ?? 0 })),
  )
  make.read(
    'gauge',
    'parked_seconds',
    'Seconds since questions started to wait for an available instance; 0 if none waits.',
    ['model'],
    () =>
      models().map(({ name, parked }) => ({
        values: [name],
        value: parked ? Math.max(0, Date.now() - parked.since) / 1000 : 0,
      })),
  )
  make.read(
    'gauge',
    'upstream_in_flight',
    'Questions of a model in flight at an instance.',
    ['model', 'instance'],
    () => ofInstances(models(), ({ inFlight }) => inFlight),
  )
  make.read(
    'gauge',
    'upstream_limit',
    'Maximum questions of a model in flight at an instance.',
    ['model', 'instance'],
    () => ofInstances(models(), ({ limit }) => limit),
  )
  make.read('gauge', 'instances', 'Instances by state.', ['model', 'state'], () =>
    models().flatMap(({ name, instances }) =>
      states.map((state) => ({
        values: [name, state],
        value: instances.filter((instance) => instance.state === state).length,
      })),
    ),
  )
}

const ofInstances = (
  models: readonly ModelSnapshot[],
  read: (instance: ModelSnapshot['instances'][number]) => number,
): { values: readonly string[]; value: number }[] =>
  models.flatMap(({ name, instances }) =>
    instances.map((instance) => ({ values: [name, instance.address], value: read(instance) })),
  )

/** Counts canary probes and exposes which instances fail them. */
export function canaryMetrics(make: Instruments): Required<CanaryEvents> {
  const probes = make.counter('canary_probes_total', 'Canary questions sent to judge instances, by result.', [
    'model',
    'function',
    'probe',
    'result',
  ])
  const failing = new Map<string, { readonly values: readonly string[]; readonly value: number }>()
  make.read(
    'gauge',
    'canary_failing',
    '1 if the instance fails its canaries: wrong or unreadable verdicts on known answers.',
    ['model', 'instance'],
    () => [...failing.values()],
  )
  const keyOf = (model: string, instance: string) => `${model}\n${instance}`
  const set = (model: string, instance: string, value: number) =>
    failing.set(keyOf(model, instance), { values: [model, instance], value })
  return {
    probed({ model, instance, function: name, probe, result }) {
      probes(1, model, name, probe, result)
      if (!failing.has(keyOf(model, instance))) set(model, instance, 0)
    },
    judged: ({ model, instance, reason }) => void set(model, instance, Number(reason !== null)),
    left: ({ model, instance }) => void failing.delete(keyOf(model, instance)),
  }
}

import { eachInSlices } from '../../../core/slices.ts'
import type { CanaryEvents } from '../../../scoring/canary/canary.ts'
import type { EngineEvents } from '../../../scoring/engine/events.ts'
import type { FunctionEvents } from '../../../scoring/functions/function-host.ts'
import type { ModelEvents } from '../../../scoring/models/api/events.ts'
import type { ModelSnapshot } from '../../../scoring/models/models.ts'
import type { InstanceState } from '../../../scoring/models/pool/pool-member.ts'
import { type Instruments, scoreBuckets, secondBuckets } from './instruments.ts'

const statuses = ['scored', 'text', 'off', 'failed'] as const

/** What the engine tells, counted: samples, terms, questions, and what the guard had to do. */
export function engineMetrics(make: Instruments): EngineEvents {
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
    drawn({ model, answered, ms }) {
      if (!answered) return
      questions(1, model, answered.source)
      waits(ms / 1000, model)
    },
    guarded({ reward, step, parts }) {
      for (const part of parts) guarded(1, reward, step, part)
    },
  }
}

/** Calls of authors' code, and workers that were ended. */
export function functionMetrics(make: Instruments): FunctionEvents {
  const calls = make.histogram(
    'function_duration_seconds',
    "Time in an author's code.",
    ['function', 'op', 'status'],
    secondBuckets,
  )
  const failures = make.counter(
    'function_failures_total',
    'Calls that failed by a fault of the function: it threw, took too long, ended its process, or returned what is no verdict.',
    ['function', 'op', 'cause'],
  )
  const restarts = make.counter('worker_restarts_total', 'Workers that were ended.', ['function', 'why'])
  return (event) => {
    if (event.type === 'call') calls(event.ms / 1000, event.name, event.op, event.status)
    if (event.type === 'failed') failures(1, event.name, event.op, event.cause)
    if (event.type === 'worker_restarted') restarts(1, event.name, event.why)
  }
}

/** What happens at the models, counted. */
export function modelMetrics(make: Instruments): ModelEvents {
  const calls = make.histogram(
    'upstream_duration_seconds',
    'Time of a call.',
    ['model', 'outcome'],
    secondBuckets,
  )
  const waits = make.histogram(
    'upstream_queue_seconds',
    'Time that a question stood in line for an instance; those that did not are not counted.',
    ['model'],
    secondBuckets,
  )
  const tokens = make.counter('tokens_total', 'Tokens that models read and wrote.', ['model', 'kind'])
  const retries = make.counter('retries_total', 'Further calls after a failed one.', ['model', 'kind'])
  const denied = make.counter('retries_denied_total', 'Further calls that the retry budget forbade.', [
    'model',
  ])
  const hedges = make.counter('hedges_total', 'Second calls for late answers.', ['model'])
  const ejections = make.counter('ejections_total', 'Instances that were taken out.', ['model', 'instance'])
  const returns = make.counter('readmissions_total', 'Instances that were taken back.', ['model', 'instance'])
  const refusals = make.counter(
    'instances_refused_total',
    'Addresses of an instances_file that are not within allow.',
    ['model'],
  )
  const switches = make.counter('memory_switches_total', 'Times that a model fell asleep or woke up.', [
    'model',
    'state',
  ])
  const failures = make.counter(
    'memory_failures_total',
    'Servers that did not fall asleep or wake up as told, or that lost their weights.',
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

/** How the pools are when the metrics are asked for. */
export function exposePools(make: Instruments, models: () => readonly ModelSnapshot[]): void {
  make.read('gauge', 'upstream_waiting', 'Questions in line for an instance.', ['model'], () =>
    models().map(({ name, waiting }) => ({ values: [name], value: waiting })),
  )
  make.read(
    'gauge',
    'questions_parked',
    'Questions that wait because no instance of their model can be asked.',
    ['model'],
    () => models().map(({ name, parked }) => ({ values: [name], value: parked?.questions ?? 0 })),
  )
  make.read(
    'gauge',
    'parked_seconds',
    'Time since questions began to wait because no instance of their model can be asked; 0: none waits.',
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
    'Questions of a model under way at an instance.',
    ['model', 'instance'],
    () => ofInstances(models(), ({ inFlight }) => inFlight),
  )
  make.read(
    'gauge',
    'upstream_limit',
    'Questions of a model that an instance may have.',
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

/** What the canaries tell, counted; the instances that fail them by model. */
export function canaryMetrics(make: Instruments): Required<CanaryEvents> {
  const probes = make.counter('canary_probes_total', 'Known questions to instances of judges.', [
    'model',
    'function',
    'probe',
    'result',
  ])
  const failing = new Map<string, { readonly values: readonly string[]; readonly value: number }>()
  make.read(
    'gauge',
    'canary_failing',
    '1: the instance judges known answers wrongly, or says nothing readable of them.',
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

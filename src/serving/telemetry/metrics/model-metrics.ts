import type { ModelEvents } from '../../../scoring/models/api/events.ts'
import type { ModelSnapshot } from '../../../scoring/models/models.ts'
import type { InstanceState } from '../../../scoring/models/pool/pool-member.ts'
import { type Instruments, secondBuckets } from './instruments.ts'

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

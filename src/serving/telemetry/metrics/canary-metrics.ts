import type { CanaryEvents } from '../../../scoring/canary/canary.ts'
import type { Instruments } from './instruments.ts'

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

import type { Instruments } from './instruments.ts'

/** The listener of the canaries; its events are those that the canaries tell. */
export interface CanaryMetrics {
  probed(event: {
    readonly model: string
    readonly instance: string
    readonly function: string
    readonly probe: string
    readonly result: string
  }): void
  judged(event: { readonly model: string; readonly instance: string; readonly reason: string | null }): void
  left(event: { readonly model: string; readonly instance: string }): void
}

export function canaryMetrics(make: Instruments): CanaryMetrics {
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

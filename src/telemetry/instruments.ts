import { Counter, Gauge, Histogram, type Registry } from 'prom-client'

export const secondBuckets = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300,
]
export const scoreBuckets = [-1, -0.5, 0, 0.1, 0.25, 0.5, 0.75, 0.9, 1, 2, 5, 10]

/** Makes the gateway's instruments in one registry, each with the prefix `reward_gateway_`. */
export interface Instruments {
  counter<L extends string>(name: string, help: string, labels: readonly L[]): Counter<L>
  histogram<L extends string>(
    name: string,
    help: string,
    labels: readonly L[],
    buckets: readonly number[],
  ): Histogram<L>
  /** `read` is called when the metrics are asked for. */
  gauge(name: string, help: string, read: () => number, labels?: Readonly<Record<string, string>>): void
}

export function instruments(registry: Registry): Instruments {
  const registers = [registry]
  const full = (name: string) => `reward_gateway_${name}`
  return {
    counter: (name, help, labelNames) => new Counter({ name: full(name), help, labelNames, registers }),
    histogram: (name, help, labelNames, buckets) =>
      new Histogram({ name: full(name), help, labelNames, buckets: [...buckets], registers }),
    gauge(name, help, read, labels = {}) {
      new Gauge({
        name: full(name),
        help,
        labelNames: Object.keys(labels),
        registers,
        collect() {
          this.set(labels, read())
        },
      })
    },
  }
}

/**
 * Counters and histograms that cost a map lookup for each label and one addition. prom-client sorts and joins the labels of each
 * observation; with six observations per sample that cost more than scoring it (`npm run rules` in bench/). prom-client still writes the text.
 */

/** For operations that may wait for models: 1 ms to 5 minutes. */
export const secondBuckets = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300,
]
/** Finer: a request with rules only takes the gateway less than 1 ms. */
export const overheadBuckets = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
]
/** For scores; most functions return 0 to 1. */
export const scoreBuckets = [-1, -0.5, 0, 0.1, 0.25, 0.5, 0.75, 0.9, 1, 2, 5, 10]

/** Adds to a series; label values are in the order of the label names. */
export type Count = (by: number, ...labels: readonly string[]) => void

/** Observes a value in a series; label values are in the order of the label names. */
export type Observe = (value: number, ...labels: readonly string[]) => void

/** Creates instruments. Every name gets the prefix `reward_gateway_` and may be used once. */
export interface Instruments {
  counter(name: string, help: string, labels: readonly string[]): Count
  histogram(name: string, help: string, labels: readonly string[], buckets: readonly number[]): Observe
  /** `read` is called on each scrape. */
  gauge(name: string, help: string, read: () => number, labels?: Readonly<Record<string, string>>): void
  /** A metric whose series are read on each scrape; `values` are in the order of the label names. */
  read(
    type: 'gauge' | 'counter',
    name: string,
    help: string,
    labels: readonly string[],
    series: () => readonly { readonly values: readonly string[]; readonly value: number }[],
  ): void
}

/** What prom-client asks of a metric that it writes. */
export interface ExposedMetric {
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly aggregator: 'sum'
  reset(): void
  get(): Promise<object>
}

/** Instruments whose metrics are handed to `add` as they are made. */
export function instruments(add: (metric: ExposedMetric) => void): Instruments {
  return {
    counter(name, help, labels) {
      const family = new Family(labels, () => ({ total: 0 }))
      expose(add, { name, help, type: 'counter' }, () =>
        family.map((series, values) => [{ labels: values, value: series.total }]),
      )
      return (by, ...values) => {
        family.of(values).total += by
      }
    },
    histogram(name, help, labels, buckets) {
      const family = new Family(labels, () => ({
        counts: new Array<number>(buckets.length + 1).fill(0),
        sum: 0,
      }))
      expose(add, { name, help, type: 'histogram' }, () =>
        family.map(({ counts, sum }, values) => histogramLines(full(name), buckets, counts, sum, values)),
      )
      return (value, ...values) => {
        const series = family.of(values)
        let at = 0
        while (at < buckets.length && value > (buckets[at] ?? 0)) at++
        series.counts[at] = (series.counts[at] ?? 0) + 1
        series.sum += value
      }
    },
    gauge(name, help, read, labels = {}) {
      expose(add, { name, help, type: 'gauge' }, () => [{ labels, value: read() }])
    },
    read(type, name, help, labels, series) {
      expose(add, { name, help, type }, () =>
        series().map(({ values, value }) => ({ labels: labelled(labels, values), value })),
      )
    },
  }
}

const full = (name: string): string => `reward_gateway_${name}`

/** A node of a family's trie, one level for each label. V8 keeps the hash of each value, and no joined text is built. */
interface Level<S> {
  readonly next: Map<string, Level<S>>
  series: S | null
}

const level = <S>(): Level<S> => ({ next: new Map(), series: null })

/** The series of one metric by their label values. */
class Family<S> {
  readonly #labels: readonly string[]
  readonly #make: () => S
  readonly #root = level<S>()
  readonly #seen: { readonly values: readonly string[]; readonly series: S }[] = []

  constructor(labels: readonly string[], make: () => S) {
    this.#labels = labels
    this.#make = make
  }

  of(values: readonly string[]): S {
    let at = this.#root
    for (const value of values) {
      let next = at.next.get(value)
      if (!next) {
        next = level()
        at.next.set(value, next)
      }
      at = next
    }
    if (at.series === null) {
      at.series = this.#make()
      this.#seen.push({ values, series: at.series })
    }
    return at.series
  }

  map(linesOf: (series: S, labels: Readonly<Record<string, string>>) => readonly Line[]): Line[] {
    return this.#seen.flatMap(({ values, series }) => linesOf(series, labelled(this.#labels, values)))
  }
}

const labelled = (names: readonly string[], values: readonly string[]): Readonly<Record<string, string>> =>
  Object.fromEntries(names.map((name, at) => [name, values[at] ?? '']))

interface Line {
  readonly labels: Readonly<Record<string, string | number>>
  readonly value: number
  readonly metricName?: string
}

function histogramLines(
  name: string,
  buckets: readonly number[],
  counts: readonly number[],
  sum: number,
  labels: Readonly<Record<string, string>>,
): Line[] {
  let below = 0
  const lines = counts.map((count, at): Line => {
    below += count
    return { labels: { le: buckets[at] ?? '+Inf', ...labels }, value: below, metricName: `${name}_bucket` }
  })
  return [
    ...lines,
    { labels, value: sum, metricName: `${name}_sum` },
    { labels, value: below, metricName: `${name}_count` },
  ]
}

function expose(
  add: (metric: ExposedMetric) => void,
  { name, help, type }: Pick<ExposedMetric, 'name' | 'help' | 'type'>,
  lines: () => readonly Line[],
): void {
  const metric = { name: full(name), help, type, aggregator: 'sum', reset() {} } as const
  add({ ...metric, get: async () => ({ ...metric, values: lines() }) })
}

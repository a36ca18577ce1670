import { setTimeout as after } from 'node:timers/promises'
import type { Metric, Registry } from 'prom-client'
import { type ExposedMetric, type Instruments, instruments } from './instruments.ts'

/** What a scrape gets. */
export interface Exposition {
  readonly make: Instruments
  /** The text and its content type. */
  expose(): Promise<{ readonly text: string; readonly contentType: string }>
  close(): void
}

/** Without a measurement prom-client says that the least delay of the event loop is 292 years. */
const firstDelayMs = 25

/**
 * Metrics of its own registry, with the process's default ones. prom-client is loaded with the first scrape: it and what it
 * imports are 30 ms and 12 MiB of a start. So the default counters (CPU, garbage collection) begin then.
 */
export function openExposition(): Exposition {
  const own: ExposedMetric[] = []
  let opening: Promise<Registry> | null = null
  const opened = (): Promise<Registry> => {
    opening ??= open(own).catch((error) => {
      opening = null
      throw error
    })
    return opening
  }
  return {
    make: instruments((metric) => own.push(metric)),
    async expose() {
      const registry = await opened()
      return { text: await registry.metrics(), contentType: registry.contentType }
    },
    close: () =>
      void opening?.then(
        (registry) => registry.clear(),
        () => {},
      ),
  }
}

async function open(own: readonly ExposedMetric[]): Promise<Registry> {
  const { collectDefaultMetrics, Registry } = await import('prom-client')
  const registry = new Registry()
  collectDefaultMetrics({ register: registry, prefix: 'reward_gateway_' })
  for (const metric of own) registry.registerMetric(metric as unknown as Metric)
  await after(firstDelayMs)
  return registry
}

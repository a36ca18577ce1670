import type { Dispatcher, Pool } from 'undici'
import type { Clock } from '../src/core/clock.ts'
import { EndpointRegistry } from '../src/scoring/models/pool/endpoint-registry.ts'
import { Endpoint, type EndpointSettings } from '../src/scoring/models/transport/endpoint.ts'

/** Milliseconds that a call takes at a server of speed 1. */
export type LatencyOf = (question: string) => number

/** Stands in for the connections to one server: a call takes its time on the clock, and an abort ends it. */
class VirtualConnections {
  readonly #clock: Clock
  readonly #latencyOf: LatencyOf
  readonly #speed: number

  constructor(clock: Clock, latencyOf: LatencyOf, speed: number) {
    this.#clock = clock
    this.#latencyOf = latencyOf
    this.#speed = speed
  }

  /** As undici calls the handlers of transport.ts. */
  dispatch({ body }: { body: string | Uint8Array }, handler: Dispatcher.DispatchHandler): void {
    const { model, prompt } = JSON.parse(Buffer.from(body).toString()) as { model: string; prompt: string }
    const cancel = this.#clock.after(this.#latencyOf(prompt) / this.#speed, () => {
      handler.onHeaders?.(200, [], () => {}, 'OK')
      handler.onData?.(Buffer.from(completion(model)))
      handler.onComplete?.([])
    })
    handler.onConnect?.((reason) => {
      cancel()
      handler.onError?.(reason ?? new Error('aborted'))
    })
  }

  async destroy(): Promise<void> {}
}

const completion = (model: string): string =>
  JSON.stringify({ model, choices: [{ text: '1', finish_reason: 'stop' }] })

/** Instances whose servers exist only on the clock; `speeds` by address. */
export class VirtualServers extends EndpointRegistry {
  readonly #clock: Clock
  readonly #latencyOf: LatencyOf
  readonly #speeds: ReadonlyMap<string, number>

  constructor(clock: Clock, latencyOf: LatencyOf, speeds: ReadonlyMap<string, number>) {
    super(clock, {})
    this.#clock = clock
    this.#latencyOf = latencyOf
    this.#speeds = speeds
  }

  protected override connect(address: string, settings: EndpointSettings): Endpoint {
    const pool = new VirtualConnections(
      this.#clock,
      this.#latencyOf,
      this.#speeds.get(address) ?? 1,
    ) as unknown as Pool
    return new Endpoint(address, this.#clock, settings, () => ({ pool, setConnectMs() {} }))
  }
}

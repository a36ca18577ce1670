import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '../../core/clock.ts'
import { GatewayError } from '../../core/errors.ts'
import type { Caller } from '../../scoring/gateway/keys.ts'
import type { RequestMetrics } from '../telemetry/metrics/metrics.ts'

/** What one API key has in progress. Kept by key name, so a reload forgets nothing. */
interface Usage {
  requests: number
  samples: number
  /** Token bucket of `rate_per_s`: requests that may be sent at once. */
  tokens: number
  /** When `tokens` was last updated. */
  at: number
}

type Reason = Parameters<RequestMetrics['keyRefused']>[1]

/** Keeps each API key within its own limits, so that a burst of one run does not starve the others. */
export class KeyLimits {
  readonly #clock: Clock
  readonly #refused: RequestMetrics['keyRefused']
  readonly #usages = new Map<string, Usage>()
  readonly #callers = new WeakMap<FastifyRequest, Caller>()

  /** `refused` is called for each refused request. */
  constructor(clock: Clock, refused: RequestMetrics['keyRefused'] = () => {}) {
    this.#clock = clock
    this.#refused = refused
  }

  /** Counts a request until its reply is closed. Throws RG_OVERLOADED with a Retry-After if the key is over its limits. */
  enter(caller: Caller, reply: FastifyReply): void {
    const { name, maxInFlight, ratePerS } = caller
    const usage = this.#usageOf(caller)
    if (maxInFlight !== undefined && usage.requests >= maxInFlight)
      throw this.#refusal(
        name,
        'in_flight',
        1,
        `the key '${name}' already has ${usage.requests} requests in flight, its maximum`,
      )
    if (ratePerS !== undefined) {
      const now = this.#clock.now()
      usage.tokens = Math.min(burstOf(ratePerS), usage.tokens + ((now - usage.at) / 1000) * ratePerS)
      usage.at = now
      if (usage.tokens < 1)
        throw this.#refusal(
          name,
          'rate',
          (1 - usage.tokens) / ratePerS,
          `the key '${name}' sends more than ${ratePerS} requests per second`,
        )
      usage.tokens -= 1
    }
    usage.requests += 1
    this.#callers.set(reply.request, caller)
    reply.raw.once('close', () => {
      usage.requests -= 1
    })
  }

  /** Counts the samples of an admitted request until its reply is closed. Throws RG_OVERLOADED. */
  takeSamples(request: FastifyRequest, reply: FastifyReply, count: number): void {
    const caller = this.#callers.get(request)
    // After a disconnect there is no 'close' event left that would give the samples back.
    if (caller?.maxSamples === undefined || reply.raw.destroyed) return
    const usage = this.#usageOf(caller)
    // A request larger than the limit is admitted when it is alone; it could never be admitted otherwise.
    if (usage.samples > 0 && usage.samples + count > caller.maxSamples)
      throw this.#refusal(
        caller.name,
        'samples',
        1,
        `the key '${caller.name}' already has ${usage.samples} samples in flight; send these later`,
      )
    usage.samples += count
    reply.raw.once('close', () => {
      usage.samples -= count
    })
  }

  #usageOf({ name, ratePerS }: Caller): Usage {
    let usage = this.#usages.get(name)
    if (!usage) {
      usage = { requests: 0, samples: 0, tokens: burstOf(ratePerS ?? 0), at: this.#clock.now() }
      this.#usages.set(name, usage)
    }
    return usage
  }

  #refusal(name: string, reason: Reason, seconds: number, message: string): GatewayError {
    this.#refused(name, reason)
    return new GatewayError('RG_OVERLOADED', message, { retryAfterS: Math.max(1, Math.ceil(seconds)) })
  }
}

/** One second's worth of requests, and at least one. */
const burstOf = (ratePerS: number): number => Math.max(1, ratePerS)

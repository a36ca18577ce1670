import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '../../core/clock.ts'
import { GatewayError } from '../../core/errors.ts'
import type { Caller } from '../../scoring/gateway/keys.ts'
import type { RequestMetrics } from '../telemetry/metrics/metrics.ts'

/** What one key has under way; kept by name, so that a reload forgets nothing. */
interface Share {
  requests: number
  samples: number
  /** Requests that it may send at once; fills up with time. */
  tokens: number
  /** When `tokens` was right. */
  at: number
}

/** Keeps each key within its own limits, so that no run's burst takes the room of another's. */
export interface KeyLimits {
  /** Counts a request until its reply is closed. Throws RG_OVERLOADED, with when to come again, where it goes beyond. */
  enter(caller: Caller, reply: FastifyReply): void
  /** Counts samples of a request that was let in, until its reply is closed. Throws RG_OVERLOADED. */
  takeSamples(request: FastifyRequest, reply: FastifyReply, count: number): void
}

const callers = new WeakMap<FastifyRequest, Caller>()

/** Limits of all keys of one server; `refused` is told of each request beyond them. */
export function openKeyLimits(clock: Clock, refused: RequestMetrics['keyRefused'] = () => {}): KeyLimits {
  const shares = new Map<string, Share>()
  const shareOf = ({ name, ratePerS }: Caller): Share => {
    const known = shares.get(name)
    if (known) return known
    const share = { requests: 0, samples: 0, tokens: burstOf(ratePerS ?? 0), at: clock.now() }
    shares.set(name, share)
    return share
  }
  const refusal = (name: string, why: Why, seconds: number, message: string): GatewayError => {
    refused(name, why)
    return new GatewayError('RG_OVERLOADED', message, { retryAfterS: Math.max(1, Math.ceil(seconds)) })
  }
  return {
    enter(caller, reply) {
      const { name, maxInFlight, ratePerS } = caller
      const share = shareOf(caller)
      if (maxInFlight !== undefined && share.requests >= maxInFlight)
        throw refusal(
          name,
          'in_flight',
          1,
          `the key '${name}' has ${share.requests} requests in work, as many as it may`,
        )
      if (ratePerS !== undefined) {
        const now = clock.now()
        share.tokens = Math.min(burstOf(ratePerS), share.tokens + ((now - share.at) / 1000) * ratePerS)
        share.at = now
        if (share.tokens < 1)
          throw refusal(
            name,
            'rate',
            (1 - share.tokens) / ratePerS,
            `the key '${name}' sends more than ${ratePerS} requests a second`,
          )
        share.tokens -= 1
      }
      share.requests += 1
      callers.set(reply.request, caller)
      reply.raw.once('close', () => {
        share.requests -= 1
      })
    },
    takeSamples(request, reply, count) {
      const caller = callers.get(request)
      // Whoever has gone is scored for nobody, and would never give the places back.
      if (caller?.maxSamples === undefined || reply.raw.destroyed) return
      const share = shareOf(caller)
      // Samples alone may be as many as one request may bring: they could never come otherwise.
      if (share.samples > 0 && share.samples + count > caller.maxSamples)
        throw refusal(
          caller.name,
          'samples',
          1,
          `the key '${caller.name}' has ${share.samples} samples in work; send these later`,
        )
      share.samples += count
      reply.raw.once('close', () => {
        share.samples -= count
      })
    },
  }
}

/** A second's worth at once, and never less than one request. */
const burstOf = (ratePerS: number): number => Math.max(1, ratePerS)

type Why = Parameters<RequestMetrics['keyRefused']>[1]

import type { Clock } from '../../../core/clock.ts'
import type { Endpoint } from '../transport/endpoint.ts'
import { isObject, objectOf, readJson } from '../transport/reply.ts'
import type { Reply } from '../transport/transport.ts'
import type { PoolMember } from './pool-member.ts'

/** How one member is probed. */
export interface ProbeSettings {
  readonly clock: Clock
  readonly headers: Record<string, string>
  /** Requested without credentials, once for all models at the address; '' if this kind of server has none. */
  readonly healthPath: string
  /** Requested with the model's credentials; '' if not requested. */
  readonly modelsPath: string
  /** One of these names must be served; null if any will do. */
  readonly names: ReadonlySet<string> | null
  readonly intervalMs: number
  readonly timeoutMs: number
  /** Consecutive failed probes that eject the member. */
  readonly failures: number
}

/** Milliseconds between probes after a failed one, or while ejected. */
const recoveryMs = 1000

/** The list of served models is long at a proxy for hundreds of models. */
const mostReplyBytes = 8 * 1024 * 1024

/**
 * Probes the health of an address until ended, with the current settings of its members. Success shows that connections work, so
 * it closes the breaker of the address; it says nothing about a model's questions. What the health of a service says of them, its
 * members know.
 */
export function watchEndpoint(
  endpoint: Endpoint,
  settings: () => Omit<ProbeSettings, 'headers' | 'modelsPath' | 'names'>,
): () => void {
  let failures = 0
  const looks = repeat(async () => {
    // A health check that generates a token would touch released memory.
    if (endpoint.asleep) return false
    const { healthPath, ...how } = settings()
    // A proxy that demands credentials is alive.
    const isWell = await replied(endpoint, healthPath, {}, how, ({ status }) =>
      [200, 401, 403].includes(status),
    )
    return () => {
      failures = isWell ? 0 : failures + 1
      if (isWell) {
        endpoint.setHealth('ok')
        endpoint.breaker.succeeded()
        for (const member of endpoint.members) member.vouched()
      } else if (failures >= how.failures) endpoint.setHealth('failing')
      return endpoint.health !== 'ok' || endpoint.breaker.state !== 'closed' || failures > 0
    }
  }, settings)
  // The next probe may be ten seconds away, but it is what notices that a server is back.
  endpoint.onBroken = looks.hurry
  return () => {
    endpoint.onBroken = null
    looks.end()
  }
}

/** Probes the list of served models at a member's address, with the model's credentials, until ended. */
export function watchMember(member: PoolMember, settings: ProbeSettings): () => void {
  const { headers, modelsPath, names } = settings
  let failures = 0
  member.probe = 'unknown'
  return repeat(
    async () => {
      const found = await replied(member.endpoint, modelsPath, headers, settings, (reply) =>
        names === null ? reply.status === 200 && 'served' : served(reply, names, member.endpoint.listedAs),
      )
      return () => {
        failures = found ? 0 : failures + 1
        const probe = found === 'served' ? 'ok' : found || 'failing'
        if (found || failures >= settings.failures) {
          if (member.probe !== probe) member.mark({ probe })
        }
        return member.probe !== 'ok' || failures > 0
      }
    },
    () => settings,
  ).end
}

/**
 * Repeats `look` until `end`. `look` resolves to a function that applies its result and returns whether the next look is urgent.
 * `hurry` makes the next look urgent.
 */
function repeat(
  look: () => Promise<false | (() => boolean)>,
  settings: () => { readonly clock: Clock; readonly intervalMs: number },
): { end(): void; hurry(): void } {
  let isEnded = false
  let nextAt: number | null = null
  let cancel = () => {}
  const next = (isUrgent: boolean): void => {
    const { clock, intervalMs } = settings()
    const ms = isUrgent ? Math.min(recoveryMs, intervalMs) : intervalMs
    nextAt = clock.now() + ms
    cancel = clock.after(ms, () => void run())
  }
  const run = async (): Promise<void> => {
    nextAt = null
    const apply = await look()
    if (!isEnded) next(apply ? apply() : false)
  }
  void run()
  return {
    end() {
      isEnded = true
      cancel()
    },
    hurry() {
      // A running look decides itself how soon the next one comes.
      if (isEnded || nextAt === null || nextAt <= settings().clock.now() + recoveryMs) return
      cancel()
      next(true)
    },
  }
}

/** The result of `read`; false if there was no reply or `read` threw. */
async function replied<T>(
  endpoint: Endpoint,
  path: string,
  headers: Record<string, string>,
  { timeoutMs }: { readonly timeoutMs: number },
  read: (reply: Reply) => T,
): Promise<T | false> {
  const message = { method: 'GET', path, headers, body: null } as const
  try {
    return read(await endpoint.replyTo(message, timeoutMs, mostReplyBytes))
  } catch {
    return false
  }
}

/** `listedAs`: another name of the model there; '' for none. Throws UpstreamError if the reply is no list of models. */
function served(
  reply: Reply,
  names: ReadonlySet<string>,
  listedAs: string,
): 'served' | 'other-model' | false {
  const { data } = objectOf(readJson(reply))
  if (!Array.isArray(data)) return false
  const isServed = data.some(
    (entry) =>
      isObject(entry) &&
      typeof entry.id === 'string' &&
      entry.id !== '' &&
      (names.has(entry.id) || entry.id === listedAs),
  )
  return isServed ? 'served' : 'other-model'
}

import type { Clock } from '../../../core/clock.ts'
import type { Endpoint } from '../transport/endpoint.ts'
import { isObject, objectOf, readJson } from '../transport/reply.ts'
import type { Reply } from '../transport/transport.ts'
import type { PoolMember } from './pool-member.ts'

/** How one member is probed. */
export interface ProbeSettings {
  readonly clock: Clock
  readonly headers: Record<string, string>
  /** Asked without credentials, once for all models at the address; '' where this kind of server has none. */
  readonly healthPath: string
  /** Asked with the model's credentials; '': not asked. */
  readonly modelsPath: string
  /** One of them must be served; null: whatever is served will do. */
  readonly names: ReadonlySet<string> | null
  readonly intervalMs: number
  readonly timeoutMs: number
  /** Failed probes in a row that take it out. */
  readonly failures: number
}

/** Milliseconds between probes of what is out, or has failed a probe. */
const recoveryMs = 1000

/** A list of served models is longer at a proxy for hundreds of them. */
const mostReplyBytes = 8 * 1024 * 1024

/**
 * Asks for an address's health until ended, with the settings that its members have at the moment. A good answer shows that
 * connections work, so it closes their breaker; whether a model's questions are answered it does not show.
 */
export function watchEndpoint(
  endpoint: Endpoint,
  settings: () => Omit<ProbeSettings, 'headers' | 'modelsPath' | 'names'>,
): () => void {
  let failures = 0
  const looks = repeat(async () => {
    // Its one token would touch memory that is gone.
    if (endpoint.asleep) return false
    const { healthPath, ...how } = settings()
    // What a proxy says to strangers tells that it lives.
    const isWell = await replied(endpoint, healthPath, {}, how, ({ status }) =>
      [200, 401, 403].includes(status),
    )
    return () => {
      failures = isWell ? 0 : failures + 1
      if (isWell) {
        endpoint.setHealth('ok')
        endpoint.breaker.succeeded()
      } else if (failures >= how.failures) endpoint.setHealth('failing')
      return endpoint.health !== 'ok' || endpoint.breaker.state !== 'closed' || failures > 0
    }
  }, settings)
  // The next look may be ten seconds away, and a server that is back is seen by it.
  endpoint.onBroken = looks.hurry
  return () => {
    endpoint.onBroken = null
    looks.end()
  }
}

/** Asks for the models that are served at a member's address, with the model's credentials, until ended. */
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
 * Looks now and again until `end`; `look` gives what is to be done with what it saw, which says whether to look soon again.
 * `hurry` has the next look come as soon as that.
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
      // A look under way says itself how soon the next one comes.
      if (isEnded || nextAt === null || nextAt <= settings().clock.now() + recoveryMs) return
      cancel()
      next(true)
    },
  }
}

/** What `read` makes of the reply; false: there was none, or none that it could read. */
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

/** `listedAs`: another name of the model there; '' for none. Throws UpstreamError where the reply lists no models. */
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

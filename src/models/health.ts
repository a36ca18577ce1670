import type { Clock } from '../clock.ts'
import type { Member } from './balance.ts'
import { Fault } from './fault.ts'
import { isObject, type JsonObject, objectOf, readJson } from './reply.ts'
import { send } from './transport.ts'

/** How one model's instances are probed. */
export interface ProbeSettings {
  readonly clock: Clock
  readonly headers: Record<string, string>
  readonly healthPath: string
  /** '' where served names are not asked for. */
  readonly modelsPath: string
  readonly names: ReadonlySet<string>
  readonly intervalMs: number
  readonly timeoutMs: number
  readonly failures: number
}

/** Milliseconds between probes of an instance that is out. */
const recoveryMs = 1000

/** Probes a member until ended: ejects its instance when probes fail, takes it back when one succeeds. */
export function watchHealth(
  member: Member,
  settings: ProbeSettings,
  tell: { ejected(reason: string): void; readmitted(): void; changed(): void },
): () => void {
  const { instance } = member
  const { clock } = settings
  let failures = 0
  let ended = false
  let cancel = () => {}

  const probe = async (): Promise<void> => {
    const answer = await probed(member, settings)
    if (ended) return
    if (answer === 'ok' || answer === 'stranger') {
      failures = 0
      if (member.stranger !== (answer === 'stranger')) {
        member.stranger = answer === 'stranger'
        if (member.stranger) tell.ejected('it serves another model')
        else tell.readmitted()
        tell.changed()
      }
      if (!instance.healthy) tell.readmitted()
      instance.setHealthy(true)
      if (instance.breaker.state !== 'closed') instance.breaker.close()
    } else {
      failures += 1
      if (failures >= settings.failures && instance.healthy) {
        tell.ejected('its health probe fails')
        instance.setHealthy(false)
      }
    }
    next()
  }

  const next = () => {
    const isOut = !instance.alive || member.stranger || failures > 0
    cancel = clock.after(isOut ? Math.min(recoveryMs, settings.intervalMs) : settings.intervalMs, () => {
      void probe()
    })
  }

  void probe()
  return () => {
    ended = true
    cancel()
  }
}

async function probed(member: Member, settings: ProbeSettings): Promise<'ok' | 'stranger' | 'failed'> {
  try {
    await get(member, settings, settings.healthPath, (status) => {
      if (status !== 200) throw new Fault('judge_unreachable', `the health probe got ${status}`)
    })
    if (settings.modelsPath === '') return 'ok'
    const served = await get(member, settings, settings.modelsPath, (_status, body) => body())
    const { data } = served
    if (!Array.isArray(data)) return 'failed'
    const known = data.some(
      (entry) => isObject(entry) && typeof entry.id === 'string' && settings.names.has(entry.id),
    )
    return known ? 'ok' : 'stranger'
  } catch {
    return 'failed'
  }
}

async function get<T>(
  { instance }: Member,
  { clock, headers, timeoutMs }: ProbeSettings,
  path: string,
  read: (status: number, body: () => JsonObject) => T,
): Promise<T> {
  const exchange = send(instance.connections, { method: 'GET', path, headers, body: null }, instance.basePath)
  const cancel = clock.after(timeoutMs, () => exchange.abort(new Fault('judge_timeout', 'no answer')))
  try {
    const reply = await exchange.reply
    return read(reply.status, () => objectOf(readJson(reply)))
  } finally {
    cancel()
  }
}

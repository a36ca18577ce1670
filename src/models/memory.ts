import type { Clock } from '../clock.ts'
import type { Backend, Translation } from './backend.ts'
import { Fault } from './fault.ts'
import type { InstancePool } from './pool.ts'
import type { PoolMember } from './pool-member.ts'
import { refusal } from './reply.ts'
import { send } from './transport.ts'

/** How one model's instances give back their GPU memory and take it again. */
export interface MemorySettings {
  readonly clock: Clock
  readonly headers: Record<string, string>
  readonly level: number
  readonly timeoutMs: number
}

/** The reply to an order says little. */
const mostReplyBytes = 1024 * 1024

/** Puts every instance to sleep; false: one that is alive did not. */
export async function sleepAll(
  pool: InstancePool,
  memory: NonNullable<Backend['memory']>,
  settings: MemorySettings,
): Promise<boolean> {
  const done = await Promise.all(
    pool.members.map(async (member) => {
      member.mark({ asleep: true })
      const outcome = await ordered(member, memory.sleep(settings.level), settings)
      return outcome !== 'refused'
    }),
  )
  return done.every(Boolean)
}

/** Wakes every instance; false: none did. One that does not wake gets no questions. */
export async function wakeAll(
  pool: InstancePool,
  memory: NonNullable<Backend['memory']>,
  settings: MemorySettings,
): Promise<boolean> {
  const done = await Promise.all(
    pool.members.map(async (member) => {
      const isAwake = (await ordered(member, memory.wake(settings.level), settings)) === 'done'
      member.mark({ asleep: !isAwake })
      return !member.asleep
    }),
  )
  return done.some(Boolean)
}

/** `gone`: nothing listens there, so it holds no memory. */
async function ordered(
  member: PoolMember,
  orders: readonly Translation[],
  settings: MemorySettings,
): Promise<'done' | 'refused' | 'gone'> {
  for (const order of orders) {
    let fault = await faultOf(member, order, settings)
    // A kept connection breaks when its server has died; only another one shows that nothing listens.
    if (fault?.kind === 'judge_unreachable' && !fault.isRefused && !fault.isAboutContent)
      fault = await faultOf(member, order, settings)
    if (fault) return fault.isRefused ? 'gone' : 'refused'
  }
  return 'done'
}

async function faultOf(
  { endpoint }: PoolMember,
  { path, body }: Translation,
  { clock, headers, timeoutMs }: MemorySettings,
): Promise<Fault | null> {
  const exchange = send(
    endpoint.connections,
    { method: 'POST', path, headers, body },
    { basePath: endpoint.basePath, maxReplyBytes: mostReplyBytes },
  )
  const cancel = clock.after(timeoutMs, () => exchange.abort(new Fault('judge_timeout', 'no answer')))
  try {
    const reply = await exchange.reply
    return reply.status === 200 ? null : refusal(reply)
  } catch (error) {
    return error as Fault
  } finally {
    cancel()
  }
}

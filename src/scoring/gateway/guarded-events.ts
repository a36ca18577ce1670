import type { ListenerGuard } from '../../core/listener-guard.ts'
import type { ServingOptions } from './serving.ts'

type Events = NonNullable<ServingOptions['events']>

const rooms = Object.keys({
  engine: true,
  models: true,
  functions: true,
  record: true,
  monitors: true,
  canary: true,
  reloads: true,
} satisfies Record<keyof Events, true>) as readonly (keyof Events)[]

/** The same listeners, each behind the guard under the name of its room. */
export function guardedEvents(guard: ListenerGuard, events: Events = {}): Events {
  const behind = rooms.flatMap((room) => {
    const given = events[room]
    if (!given) return []
    return [[room, typeof given === 'function' ? guard.callback(room, given) : guard.listeners(room, given)]]
  })
  return Object.fromEntries(behind) as Events
}

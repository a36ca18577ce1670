import type { ListenerGuard } from '../../core/listener-guard.ts'
import type { RuntimeOptions } from './runtime.ts'

type Events = NonNullable<RuntimeOptions['events']>

/** The rooms that tell a gateway's listeners of what happens. */
export const gatewayRooms = Object.keys({
  engine: true,
  models: true,
  functions: true,
  canary: true,
  reloads: true,
} satisfies Record<keyof Events, true>) as readonly (keyof Events)[]

/** The listeners of these rooms, each behind the guard under the name of its room. */
export function guardedEvents<E extends object>(
  guard: ListenerGuard,
  events: E,
  rooms: readonly (keyof E & string)[],
): E {
  const behind = rooms.flatMap((room) => {
    const given = events[room] as object | (() => void) | undefined
    if (!given) return []
    return [
      [
        room,
        typeof given === 'function'
          ? guard.callback(room, given as () => void)
          : guard.listeners(room, given),
      ],
    ]
  })
  return Object.fromEntries(behind) as E
}

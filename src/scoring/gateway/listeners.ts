import type { ListenerGuard } from '../../core/listener-guard.ts'
import type { EngineEvents } from '../engine/events.ts'

const names = Object.keys({
  voted: true,
  done: true,
  guarded: true,
} satisfies Record<keyof EngineEvents, true>) as readonly (keyof EngineEvents)[]

/**
 * Combines listeners into one. Each is called through the guard under its own name, so that what one throws affects no other. An
 * event without listeners costs nothing.
 */
export function allOf(
  guard: ListenerGuard,
  listeners: Readonly<Record<string, EngineEvents | null | undefined>>,
): EngineEvents {
  const told = names.flatMap((name) => {
    const tells = Object.entries(listeners).flatMap(([who, listener]) => {
      const tell = listener?.[name] as Tell | undefined
      return tell ? guard.callback(who, tell.bind(listener)) : []
    })
    const [only] = tells
    if (!only) return []
    const all: Tell = (event) => {
      for (const tell of tells) tell(event)
    }
    return [[name, tells.length === 1 ? only : all]]
  })
  return Object.fromEntries(told) as EngineEvents
}

type Tell = (event: unknown) => void

/** The listeners of these rooms, each wrapped by the guard under its room's name. */
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

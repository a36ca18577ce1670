import type { EngineEvents } from '../engine/events.ts'

const names = Object.keys({
  drawn: true,
  done: true,
  guarded: true,
} satisfies Record<keyof EngineEvents, true>) as readonly (keyof EngineEvents)[]

/** One listener that tells all of them; an event that none of them hears costs nothing. */
export function allOf(listeners: readonly (EngineEvents | null | undefined)[]): EngineEvents {
  const given = listeners.filter((listener) => listener != null)
  const told = names.flatMap((name) => {
    const tells = given.flatMap((listener) => (listener[name] as Tell | undefined) ?? [])
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

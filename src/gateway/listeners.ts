import type { EngineEvents } from '../engine/events.ts'

/** One listener that tells all of them; an event that none of them hears costs nothing. */
export function allOf(listeners: readonly (EngineEvents | null | undefined)[]): EngineEvents {
  const given = listeners.filter((listener) => listener != null)
  const [scored, asked, drawn, done] = [
    told(given.flatMap(({ scored }) => scored ?? [])),
    told(given.flatMap(({ asked }) => asked ?? [])),
    told(given.flatMap(({ drawn }) => drawn ?? [])),
    told(given.flatMap(({ done }) => done ?? [])),
  ]
  return {
    ...(scored && { scored }),
    ...(asked && { asked }),
    ...(drawn && { drawn }),
    ...(done && { done }),
  }
}

function told<E>(tells: readonly ((event: E) => void)[]): ((event: E) => void) | undefined {
  return tells.length < 2
    ? tells[0]
    : (event) => {
        for (const tell of tells) tell(event)
      }
}

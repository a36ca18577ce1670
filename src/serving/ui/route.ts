import { useEffect, useState } from 'preact/hooks'

/** In the order of the page's head. */
export const views = ['rewards', 'samples', 'groups', 'playground', 'pools', 'alerts'] as const
/** One of them. */
export type View = (typeof views)[number]

/** What the address names behind its '#': a view, and what is chosen in it. */
interface Place {
  readonly view: View
  readonly chosen: string
}

function placeOf(hash: string): Place {
  const [, name = '', chosen = ''] = /^#\/(\w+)(?:\/(.*))?$/.exec(hash) ?? []
  const view = views.find((one) => one === name) ?? 'rewards'
  try {
    return { view, chosen: decodeURIComponent(chosen) }
  } catch {
    return { view, chosen: '' }
  }
}

/** The address of a place. */
export const addressOf = (view: View, chosen = ''): string =>
  `#/${view}${chosen === '' ? '' : `/${encodeURIComponent(chosen)}`}`

/** Goes to a place. */
export const goTo = (view: View, chosen = ''): void => {
  location.hash = addressOf(view, chosen)
}

/** Where the page is. */
export function usePlace(): Place {
  const [place, move] = useState(() => placeOf(location.hash))
  useEffect(() => {
    const moved = () => move(placeOf(location.hash))
    addEventListener('hashchange', moved)
    return () => removeEventListener('hashchange', moved)
  }, [])
  return place
}

import { useEffect, useState } from 'preact/hooks'

/** The views, in the order of the navigation. */
export const views = ['rewards', 'samples', 'groups', 'playground', 'runs', 'pools', 'alerts'] as const
/** The name of a view. */
export type View = (typeof views)[number]

export const titles: Readonly<Record<View, string>> = {
  rewards: 'Rewards',
  samples: 'Samples',
  groups: 'Groups',
  playground: 'Playground',
  runs: 'Runs',
  pools: 'Pools',
  alerts: 'Alerts',
}

/** What the URL fragment names: a view and the chosen item in it. */
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

/** The link to a view. */
export const addressOf = (view: View, chosen = ''): string =>
  `#/${view}${chosen === '' ? '' : `/${encodeURIComponent(chosen)}`}`

/** Navigates to a view. */
export const goTo = (view: View, chosen = ''): void => {
  location.hash = addressOf(view, chosen)
}

/** The current view; re-renders on navigation. */
export function usePlace(): Place {
  const [place, move] = useState(() => placeOf(location.hash))
  useEffect(() => {
    const moved = () => move(placeOf(location.hash))
    addEventListener('hashchange', moved)
    return () => removeEventListener('hashchange', moved)
  }, [])
  return place
}

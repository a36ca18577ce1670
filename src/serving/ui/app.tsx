import { useEffect, useState } from 'preact/hooks'
import { alertsOf } from './live/alerts.ts'
import { connect, useLive } from './live/store.ts'
import { KeyForm } from './parts/key-form.tsx'
import { addressOf, titles, usePlace, type View, views } from './route.ts'
import { AlertsView } from './views/alerts-view.tsx'
import { GroupsView } from './views/groups-view.tsx'
import { PlaygroundView } from './views/playground-view.tsx'
import { PoolsView } from './views/pools-view.tsx'
import { RewardsView } from './views/rewards-view.tsx'
import { RunsView } from './views/runs-view.tsx'
import { SamplesView } from './views/samples-view.tsx'

const shown: Readonly<Record<View, (props: { readonly chosen: string }) => preact.ComponentChild>> = {
  rewards: RewardsView,
  samples: SamplesView,
  groups: GroupsView,
  playground: PlaygroundView,
  runs: RunsView,
  pools: PoolsView,
  alerts: AlertsView,
}

const connections = { connecting: 'Connecting', live: 'Live', lost: 'Reconnecting', refused: 'Key required' }

/** The inspector page. */
export function App() {
  const live = useLive()
  const { view, chosen } = usePlace()
  const [isAsking, askForKey] = useState(false)
  useEffect(() => {
    void connect()
  }, [])
  useEffect(() => {
    document.title = `${titles[view]} · reward-gateway`
  }, [view])
  const alerts = live.status ? alertsOf(live.status, live.served) : []
  const worst = alerts.some(({ level }) => level === 'bad') ? 'bad' : 'warn'
  const View = shown[view]
  const isShut = live.connection === 'refused' || isAsking
  return (
    <>
      <a class="skip" href="#content">
        Skip to content
      </a>
      <header class="bar">
        <a class="brand" href={addressOf('rewards')}>
          <svg class="logo" viewBox="0 0 16 16" width="18" height="18" aria-hidden="true">
            <rect width="16" height="16" rx="4" />
            <path d="M4 11V8.5M8 11V5M12 11V7" />
          </svg>
          reward-gateway
        </a>
        <nav aria-label="Views">
          {views.map((name) => (
            <a href={addressOf(name)} aria-current={name === view ? 'page' : undefined}>
              {titles[name]}
              {name === 'alerts' && alerts.length > 0 && (
                <span class={`badge ${worst}`}>{alerts.length}</span>
              )}
            </a>
          ))}
        </nav>
        <div class="status">
          <span class={`connection ${live.connection}`} role="status">
            {connections[live.connection]}
          </span>
          <button type="button" class="quiet" onClick={() => askForKey(!isAsking)}>
            Key
          </button>
          <ThemeButton />
        </div>
      </header>
      <main id="content" tabIndex={-1}>
        {isShut ? (
          <KeyForm trouble={live.trouble} done={() => askForKey(false)} />
        ) : live.served ? (
          <View chosen={chosen} />
        ) : (
          <p class="empty">
            {live.connection === 'lost' ? 'The gateway is not responding. Retrying…' : 'Connecting…'}
          </p>
        )}
      </main>
    </>
  )
}

function ThemeButton() {
  const [theme, choose] = useState(chosenTheme)
  const next = themes[(themes.indexOf(theme) + 1) % themes.length] ?? 'auto'
  return (
    <button
      type="button"
      class="quiet"
      aria-label={`Theme: ${theme}. Change to ${next}`}
      onClick={() => {
        applyTheme(next)
        choose(next)
      }}
    >
      {theme === 'auto' ? 'Auto' : theme === 'light' ? 'Light' : 'Dark'}
    </button>
  )
}

/** In the order in which the button cycles through them. */
const themes = ['auto', 'light', 'dark'] as const
type Theme = (typeof themes)[number]

const place = 'reward-gateway.theme'

/** `auto` follows the system. */
function chosenTheme(): Theme {
  const kept = localStorage.getItem(place)
  return themes.find((theme) => theme === kept) ?? 'auto'
}

/** Applies a theme and remembers it in this browser. */
export function applyTheme(theme: Theme = chosenTheme()): void {
  localStorage.setItem(place, theme)
  document.documentElement.dataset.theme = theme
}

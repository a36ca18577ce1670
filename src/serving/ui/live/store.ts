import { useEffect, useState } from 'preact/hooks'
import type { Access, PoolStatus, Scored, Served } from '../../http/inspector/messages.ts'
import type { RowSummary } from '../../telemetry/live/shown-row.ts'
import { alertsOf, keyOf } from './alerts.ts'
import { type KnownReward, mergeUpdate } from './series.ts'
import { accessOf, ask, keepKey, Refused, readEvents, sessionKey } from './session.ts'

/** Rows that the page keeps. */
const maxRows = 1000
const historyLength = 120

type Connection = 'connecting' | 'live' | 'lost' | 'refused'

/** When an alert was first seen, in milliseconds since the epoch; `isOlder`: it was there before the page was. */
interface Seen {
  readonly at: number
  readonly isOlder: boolean
}

/** Everything that the page knows. Changed in place; `useLive` re-renders after each change. */
export interface LiveState {
  connection: Connection
  /** The gateway's error message, if it refused the connection. */
  trouble: string
  access: Access | null
  served: Served | null
  status: PoolStatus | null
  readonly rewards: Map<string, KnownReward>
  /** Newest first. */
  rows: readonly RowSummary[]
  /** Gateway time minus browser time, in milliseconds. */
  skew: number
  /** By the key of an alert. */
  readonly seen: Map<string, Seen>
  /** Recent latency and calls in flight of each instance, by model and address. */
  readonly instances: Map<string, { readonly latency: (number | null)[]; readonly inFlight: number[] }>
}

/** The page's only state. */
export const state: LiveState = {
  connection: 'connecting',
  trouble: '',
  access: null,
  served: null,
  status: null,
  rewards: new Map(),
  rows: [],
  skew: 0,
  seen: new Map(),
  instances: new Map(),
}

const listeners = new Set<() => void>()
const changed = (): void => {
  for (const draw of listeners) draw()
}

/** The state; the component re-renders when it changes. */
export function useLive(): LiveState {
  const [, draw] = useState(0)
  useEffect(() => {
    const again = () => draw((times) => times + 1)
    listeners.add(again)
    return () => void listeners.delete(again)
  }, [])
  return state
}

/** The gateway's current time, in milliseconds since the epoch. */
export const gatewayNow = (): number => Date.now() + state.skew

const heard: Readonly<Record<string, (data: never) => void>> = {
  served(data: Served) {
    const kept = new Set(data.rewards.map(({ name }) => name))
    for (const name of state.rewards.keys()) if (!kept.has(name)) state.rewards.delete(name)
    const rewards = [...data.rewards].sort((a, b) => (a.name < b.name ? -1 : 1))
    state.served = { ...data, rewards }
  },
  status(data: PoolStatus) {
    const isFirst = state.status === null
    state.status = data
    const alerts = new Set(alertsOf(data, state.served).map(keyOf))
    for (const key of state.seen.keys()) if (!alerts.has(key)) state.seen.delete(key)
    for (const key of alerts)
      if (!state.seen.has(key)) state.seen.set(key, { at: gatewayNow(), isOlder: isFirst })
    for (const model of [...data.models, ...data.sandboxes]) {
      for (const { address, latency_ms, in_flight } of model.instances) {
        const key = `${model.name} ${address}`
        const known = state.instances.get(key) ?? { latency: [], inFlight: [] }
        state.instances.set(key, {
          latency: [...known.latency, latency_ms === 0 ? null : latency_ms].slice(-historyLength),
          inFlight: [...known.inFlight, in_flight].slice(-historyLength),
        })
      }
    }
  },
  scored(data: Scored) {
    state.skew = data.now - Date.now()
    for (const [name, told] of Object.entries(data.rewards))
      state.rewards.set(name, mergeUpdate(state.rewards.get(name), told))
    const fresh = new Set(data.rows.map(({ id }) => id))
    const oldest = data.oldest ?? 0
    state.rows = [...data.rows, ...state.rows.filter(({ id, at }) => at >= oldest && !fresh.has(id))].slice(
      0,
      maxRows,
    )
  },
}

let ending = new AbortController()
let pause = 0

/** Connects, and reconnects whenever the stream ends, with exponential backoff. */
async function stayConnected(signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      const response = await ask('api/events', { signal })
      state.connection = 'live'
      state.trouble = ''
      pause = 0
      if (response.body)
        await readEvents(response.body, (name, data) => {
          heard[name]?.(data as never)
          changed()
        })
      state.connection = 'lost'
    } catch (error) {
      if (signal.aborted) return
      const isRefused = error instanceof Refused && (error.status === 401 || error.status === 403)
      state.connection = isRefused ? 'refused' : 'lost'
      state.trouble = error instanceof Refused ? error.message : ''
      if (isRefused) {
        changed()
        return
      }
    }
    changed()
    pause = Math.min(15_000, pause === 0 ? 500 : pause * 2)
    await new Promise((resolve) => setTimeout(resolve, pause))
  }
}

/** Reconnects with a key; '' for none. Forgets what was received with another key. */
export async function connect(key = sessionKey()): Promise<void> {
  ending.abort()
  ending = new AbortController()
  const { signal } = ending
  if (key !== sessionKey()) {
    Object.assign(state, { served: null, status: null, rows: [] })
    state.rewards.clear()
  }
  keepKey(key)
  state.connection = 'connecting'
  changed()
  state.access = await accessOf(key).catch(() => null)
  changed()
  if (!signal.aborted) await stayConnected(signal)
}

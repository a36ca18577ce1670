import { useEffect, useState } from 'preact/hooks'
import type { Access, PoolStatus, Scored, Served } from '../../http/inspector/messages.ts'
import type { RowSummary } from '../../telemetry/live/shown-row.ts'
import { type KnownReward, merged } from './series.ts'
import { accessOf, ask, keepKey, Refused, readEvents, sessionKey } from './session.ts'

/** Rows that the page keeps. */
const maxRows = 1000
const historyLength = 120

type Connection = 'connecting' | 'live' | 'lost' | 'refused'

/** Everything that the page knows. Changed in place: `useLive` draws again whenever something was told. */
export interface LiveState {
  connection: Connection
  /** Why there is nothing to see, where the gateway says so. */
  trouble: string
  access: Access | null
  served: Served | null
  standing: PoolStatus | null
  readonly rewards: Map<string, KnownReward>
  /** The newest first. */
  rows: readonly RowSummary[]
  /** Wall time of the gateway minus that of this browser, milliseconds. */
  skew: number
  /** Latency and calls in flight of each instance over the last looks, by model and address. */
  readonly instances: Map<string, { readonly latency: number[]; readonly inFlight: number[] }>
}

/** The page's one state. */
export const state: LiveState = {
  connection: 'connecting',
  trouble: '',
  access: null,
  served: null,
  standing: null,
  rewards: new Map(),
  rows: [],
  skew: 0,
  instances: new Map(),
}

const drawers = new Set<() => void>()
const changed = (): void => {
  for (const draw of drawers) draw()
}

/** The state; the component is drawn again when it changes. */
export function useLive(): LiveState {
  const [, draw] = useState(0)
  useEffect(() => {
    const again = () => draw((times) => times + 1)
    drawers.add(again)
    return () => void drawers.delete(again)
  }, [])
  return state
}

/** The gateway's time. */
export const gatewayNow = (): number => Date.now() + state.skew

const heard: Readonly<Record<string, (data: never) => void>> = {
  served(data: Served) {
    const kept = new Set(data.rewards.map(({ name }) => name))
    for (const name of state.rewards.keys()) if (!kept.has(name)) state.rewards.delete(name)
    const rewards = [...data.rewards].sort((a, b) => (a.name < b.name ? -1 : 1))
    state.served = { ...data, rewards }
  },
  standing(data: PoolStatus) {
    state.standing = data
    for (const model of data.models) {
      for (const { address, latency_ms, in_flight } of model.instances) {
        const key = `${model.name} ${address}`
        const known = state.instances.get(key) ?? { latency: [], inFlight: [] }
        state.instances.set(key, {
          latency: [...known.latency, latency_ms].slice(-historyLength),
          inFlight: [...known.inFlight, in_flight].slice(-historyLength),
        })
      }
    }
  },
  scored(data: Scored) {
    state.skew = data.now - Date.now()
    for (const [name, told] of Object.entries(data.rewards))
      state.rewards.set(name, merged(state.rewards.get(name), told))
    const fresh = new Set(data.rows.map(({ id }) => id))
    state.rows = [...data.rows, ...state.rows.filter(({ id }) => !fresh.has(id))].slice(0, maxRows)
  },
}

let ending = new AbortController()
let pause = 0

/** Connects, and again whenever the stream ends; with a longer pause after each failure. */
async function stay(signal: AbortSignal): Promise<void> {
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

/** Uses a key from here on; '' for none. What was seen with another key is forgotten. */
export async function connect(key = sessionKey()): Promise<void> {
  ending.abort()
  ending = new AbortController()
  const { signal } = ending
  if (key !== sessionKey()) {
    Object.assign(state, { served: null, standing: null, rows: [] })
    state.rewards.clear()
  }
  keepKey(key)
  state.connection = 'connecting'
  changed()
  state.access = await accessOf(key).catch(() => null)
  changed()
  if (!signal.aborted) await stay(signal)
}

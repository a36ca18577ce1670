import { useEffect, useState } from 'preact/hooks'
import type { QueueOverview } from '../../http/inspector/messages.ts'
import { askJson, Refused } from './session.ts'

const everyMs = 2000

/** The queue of submitted rollouts; `off`: the gateway has none. */
type KnownQueue =
  | { readonly state: 'unknown' | 'off' }
  | { readonly state: 'refused'; readonly trouble: string }
  | { readonly state: 'on'; readonly overview: QueueOverview }

/** Asks for the queue every two seconds while the component is shown and the tab is visible. */
export function useQueue(hasQueue: boolean): KnownQueue {
  const [queue, tell] = useState<KnownQueue>({ state: 'unknown' })
  useEffect(() => {
    if (!hasQueue) return
    const ending = new AbortController()
    const { signal } = ending
    const look = async (): Promise<void> => {
      for (;;) {
        if (!document.hidden)
          await askJson<QueueOverview>('../v1/queue', { signal }).then(
            (overview) => tell({ state: 'on', overview }),
            (error: unknown) => {
              if (!(error instanceof Refused)) return
              tell(error.status === 404 ? { state: 'off' } : { state: 'refused', trouble: error.message })
            },
          )
        await new Promise((resolve) => setTimeout(resolve, everyMs))
        if (signal.aborted) return
      }
    }
    void look()
    return () => ending.abort()
  }, [hasQueue])
  return hasQueue ? queue : { state: 'off' }
}

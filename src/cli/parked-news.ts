import type { Clock } from '../core/clock.ts'
import type { GatewayOptions } from '../scoring/gateway/gateway.ts'
import type { Io } from './command.ts'

type ModelEvents = NonNullable<NonNullable<GatewayOptions['events']>['models']>

/** Questions that wait for less than this are not reported. */
const newsMs = 1000

/** The minimum time between two lines that report the start of a wait for one model. */
const pauseMs = 30_000

/** The interval of the lines that report a wait which continues. */
const stillMs = 300_000

interface Standing {
  /** The time of the last line. */
  at: number
  isTold: boolean
  cancel: () => void
}

/** Reports to people that questions wait because no instance of their model is available. */
export interface ParkedNews {
  readonly parked: NonNullable<ModelEvents['parked']>
  /** Cancels lines that are not written yet. */
  end(): void
}

/** `begun` returns whether it reported something; `over` is called only if it did. */
export function openParkedNews(
  clock: Clock,
  tell: { begun(model: string): boolean; over(model: string): void },
): ParkedNews {
  const standings = new Map<string, Standing>()
  const write = (model: string, standing: Standing): void => {
    if (tell.begun(model)) {
      standing.isTold = true
      standing.at = clock.now()
    }
    const ms = standing.isTold ? stillMs : newsMs
    standing.cancel = clock.after(ms, () => write(model, standing))
  }
  return {
    parked({ model, isParked }) {
      const standing = standings.get(model) ?? {
        at: Number.NEGATIVE_INFINITY,
        isTold: false,
        cancel: () => {},
      }
      standings.set(model, standing)
      standing.cancel()
      if (isParked) {
        const waitMs = Math.max(newsMs, standing.at + pauseMs - clock.now())
        standing.cancel = clock.after(waitMs, () => write(model, standing))
        return
      }
      if (standing.isTold) tell.over(model)
      standing.isTold = false
    },
    end() {
      for (const { cancel } of standings.values()) cancel()
      standings.clear()
    },
  }
}

/** Reports on standard error which model a command waits for. */
export const tellWaiting = ({ stderr }: Pick<Io, 'stderr'>, clock: Clock): ParkedNews => {
  const write = (text: string) => void stderr.write(`${stderr.isTTY ? '\r\u001b[K' : ''}${text}\n`)
  return openParkedNews(clock, {
    begun(model) {
      write(
        `waiting for the model '${model}': none of its servers responds; questions wait until their deadline`,
      )
      return true
    },
    over: (model) => write(`the model '${model}' responds again`),
  })
}

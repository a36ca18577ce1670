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

interface ParkedModel {
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
  const parked = new Map<string, ParkedModel>()
  const write = (model: string, known: ParkedModel): void => {
    if (tell.begun(model)) {
      known.isTold = true
      known.at = clock.now()
    }
    const ms = known.isTold ? stillMs : newsMs
    known.cancel = clock.after(ms, () => write(model, known))
  }
  return {
    parked({ model, isParked }) {
      const known = parked.get(model) ?? {
        at: Number.NEGATIVE_INFINITY,
        isTold: false,
        cancel: () => {},
      }
      parked.set(model, known)
      known.cancel()
      if (isParked) {
        const waitMs = Math.max(newsMs, known.at + pauseMs - clock.now())
        known.cancel = clock.after(waitMs, () => write(model, known))
        return
      }
      if (known.isTold) tell.over(model)
      known.isTold = false
    },
    end() {
      for (const { cancel } of parked.values()) cancel()
      parked.clear()
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

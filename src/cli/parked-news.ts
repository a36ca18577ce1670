import type { Clock } from '../core/clock.ts'
import type { GatewayOptions } from '../scoring/gateway/gateway.ts'
import type { Io } from './command.ts'

type ModelEvents = NonNullable<NonNullable<GatewayOptions['events']>['models']>

/** A judge that is back sooner is no news. */
const newsMs = 1000

/** Between two lines that one model's questions begin to wait. */
const pauseMs = 30_000

/** Between two lines that they still wait. */
const stillMs = 300_000

interface Standing {
  /** When the last line was written. */
  at: number
  isTold: boolean
  cancel: () => void
}

/** Who tells people that a model's questions wait because none of its instances can be asked. */
export interface ParkedNews {
  readonly parked: NonNullable<ModelEvents['parked']>
  /** Lines that wait are not written any more. */
  end(): void
}

/** `begun` gives whether it had something to tell; `over` is called only after it had. */
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

/** Says on standard error what a command waits for. */
export const tellWaiting = ({ stderr }: Pick<Io, 'stderr'>, clock: Clock): ParkedNews => {
  const write = (text: string) => void stderr.write(`${stderr.isTTY ? '\r\u001b[K' : ''}${text}\n`)
  return openParkedNews(clock, {
    begun(model) {
      write(
        `waiting for the model '${model}': none of its servers answers; questions wait until their deadline`,
      )
      return true
    },
    over: (model) => write(`the model '${model}' answers again`),
  })
}

import type { Clock } from '../core/clock.ts'
import { hideSecrets } from '../core/secrets.ts'
import type { Gateway, GatewayOptions, ModelSnapshot } from '../scoring/gateway/gateway.ts'
import { askedModels } from '../scoring/plan/plan.ts'
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
interface ParkedNews {
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

/**
 * Reports on standard error which model a command waits for, at which servers, until when, and what ends the wait sooner.
 * `gateway` returns null until it is open.
 */
export const tellWaiting = (
  { stderr }: Pick<Io, 'stderr'>,
  clock: Clock,
  gateway: () => Pick<Gateway, 'models' | 'rewards' | 'settings'> | null,
): ParkedNews => {
  const write = (text: string) => void stderr.write(`${stderr.isTTY ? '\r\u001b[K' : ''}${text}\n`)
  return openParkedNews(clock, {
    begun(model) {
      const open = gateway()
      const found = open?.models().find(({ name }) => name === model)
      if (!open || !found) return false
      const servers = found.instances.map(({ address }) => hideSecrets(address)).join(', ')
      const { seconds, setting } = longestWait(open, found)
      const end = (found.parked?.since ?? Date.now()) + seconds * 1000
      // After the first batch of rows has failed, the next one waits as long.
      const first = end > Date.now() ? `, the first until ${new Date(end).toTimeString().slice(0, 8)}` : ''
      const sooner =
        found.waitSeconds === null
          ? "To wait for less, set 'wait_for_instance: 5' (seconds) for the model; "
          : ''
      write(
        `waiting for the model '${model}': no server responds (${servers || 'it has none'}). A question waits for ${seconds} s (${setting})${first}, and then its row has no reward. ${sooner}'reward-gateway check CONFIG --connect' says what is wrong with a server`,
      )
      return true
    },
    over: (model) => write(`the model '${model}' responds again`),
  })
}

interface Wait {
  readonly seconds: number
  readonly setting: string
}

const shorter = (a: Wait, b: Wait): Wait => (b.seconds < a.seconds ? b : a)

/** The longest that a question to the model may wait, over all rewards that ask it, and the setting that says so. */
function longestWait(
  { rewards, settings }: Pick<Gateway, 'rewards' | 'settings'>,
  { name: model, waitSeconds }: ModelSnapshot,
): Wait {
  const own = {
    seconds: waitSeconds ?? Number.POSITIVE_INFINITY,
    setting: `wait_for_instance of ${model}`,
  }
  const limit = shorter({ seconds: settings.limits.deadline_s, setting: 'limits.deadline_s' }, own)
  const waits = rewards().flatMap(({ name, deadlineMs, steps }) =>
    steps
      .filter((step) => askedModels(step).includes(model))
      .map((step) =>
        [
          limit,
          { seconds: (deadlineMs ?? Number.POSITIVE_INFINITY) / 1000, setting: `deadline_s of ${name}` },
          { seconds: step.timeoutMs / 1000, setting: `timeout_s of ${name}, step ${step.name}` },
        ].reduce(shorter),
      ),
  )
  return waits.length === 0 ? limit : waits.reduce((a, b) => (b.seconds > a.seconds ? b : a))
}

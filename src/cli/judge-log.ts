import type { Clock } from '../clock.ts'
import type { Gateway, GatewayOptions } from '../gateway/gateway.ts'
import type { Log } from './log-events.ts'

type Events = NonNullable<GatewayOptions['events']>

/** An instance that comes and goes gets a line this often at most. */
const pauseMs = 30_000

/** Until what came before the server listens is tried again. */
const startMs = 200

/** Instances whose last line is remembered; the eldest go first. */
const mostKept = 10_000

/** Listeners that write the log. */
interface JudgeLog {
  readonly events: Events
  /** Lines that wait are not written any more. */
  end(): void
}

interface Told {
  isUp: boolean
  at: number
  /** What it has become since, with the reason of an instance that is out. */
  next: { readonly isUp: boolean; readonly reason: string } | null
}

/**
 * The same listeners, and a line in the log when a judge's server stops taking questions and when it takes them again.
 * The first probe of a server that is not there is such a change, so a start says what is missing.
 */
export function openJudgeLog(
  events: Events,
  log: () => Log | null,
  gateway: () => Pick<Gateway, 'models'> | null,
  clock: Clock,
): JudgeLog {
  const told = new Map<string, Told>()
  const waiting = new Set<() => void>()
  const after = (ms: number, fn: () => void): void => {
    const cancel = clock.after(ms, () => {
      waiting.delete(cancel)
      fn()
    })
    waiting.add(cancel)
  }
  const write = (instance: string, isUp: boolean, reason: string): void => {
    const models = (gateway()?.models() ?? []).filter(({ instances }) =>
      instances.some(({ address }) => address === instance),
    )
    const names = models.map(({ name }) => name)
    // What is ejected is told before it counts as such.
    const isLeft = ({ instances }: (typeof models)[number]) =>
      instances.some(
        ({ address, state }) => address !== instance && (state === 'ready' || state === 'asleep'),
      )
    if (isUp) log()?.info({ instance, models: names }, 'a model server takes questions again')
    else {
      const dead = models.filter((model) => !isLeft(model)).map(({ name }) => name)
      log()?.warn(
        { instance, models: names, reason, ...(dead.length > 0 && { without_server: dead }) },
        dead.length > 0
          ? "a model server takes no questions, and its model has no other: samples fail; 'reward-gateway check --connect' says more"
          : 'a model server takes no questions; others of its model do',
      )
    }
  }
  const changed = (instance: string, isUp: boolean, reason: string): void => {
    // Before the server listens there is no log.
    if (log() === null) {
      after(startMs, () => changed(instance, isUp, reason))
      return
    }
    const now = clock.now()
    const last = told.get(instance)
    // Nobody has heard that it was out.
    if (!last && isUp) return
    if (last && now - last.at < pauseMs) {
      const isArmed = last.next !== null
      last.next = { isUp, reason }
      if (!isArmed) after(last.at + pauseMs - now, () => catchUp(instance, last))
      return
    }
    if (last?.isUp === isUp) return
    told.delete(instance)
    told.set(instance, { isUp, at: now, next: null })
    const eldest = told.keys().next().value
    if (told.size > mostKept && eldest !== undefined) told.delete(eldest)
    write(instance, isUp, reason)
  }
  const catchUp = (instance: string, last: Told): void => {
    const { next } = last
    last.next = null
    if (!next || told.get(instance) !== last || next.isUp === last.isUp) return
    last.isUp = next.isUp
    last.at = clock.now()
    write(instance, next.isUp, next.reason)
  }
  return {
    events: {
      ...events,
      models: {
        ...events.models,
        ejected(change) {
          events.models?.ejected?.(change)
          changed(change.instance, false, change.reason)
        },
        readmitted(change) {
          events.models?.readmitted?.(change)
          changed(change.instance, true, '')
        },
      },
    },
    end() {
      for (const cancel of waiting) cancel()
      waiting.clear()
    },
  }
}

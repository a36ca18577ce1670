import type { Clock } from '../../core/clock.ts'
import { GatewayError } from '../../core/errors.ts'
import type { EngineEvents, RequestDone } from '../../scoring/engine/events.ts'
import type { Gateway } from '../../scoring/gateway/gateway.ts'
import type { createApp } from '../../serving/http/app.ts'
import type { ObservedEvents } from '../../serving/observed-gateway.ts'
import type { QueueEvents } from '../../serving/queue/upkeep.ts'
import { openParkedNews } from '../parked-news.ts'
import { FunctionFaults } from './function-log.ts'

/** The server's log. */
export type Log = Awaited<ReturnType<typeof createApp>>['log']

/** What collectors of logs expect of a line: the level's name, and the time in ISO 8601. */
export const logFormat = {
  formatters: { level: (level: string) => ({ level }) },
  timestamp: () => `,"time":"${new Date().toISOString()}"`,
}

const flushMs = 10_000

/** Maximum number of lines per request. */
const slowLines = 5

/** Wraps the listeners, and logs events that operators should see immediately. */
export function withLog(events: ObservedEvents, log: () => Log | null): ObservedEvents {
  const faults = new FunctionFaults((line) => log()?.warn(line, 'a reward function fails'))
  let willFlush = false
  /** Writes the counts of a window even if there are no further failures. */
  const flushLater = (): void => {
    if (willFlush) return
    willFlush = true
    setTimeout(() => {
      willFlush = false
      if (faults.flush()) flushLater()
    }, flushMs).unref()
  }
  return {
    ...events,
    functions: {
      ...events.functions,
      failed(event) {
        events.functions?.failed?.(event)
        faults.note(event)
        flushLater()
      },
    },
    canary: {
      ...events.canary,
      judged(event) {
        events.canary?.judged?.(event)
        if (event.reason === null) log()?.info(event, 'an instance passes its canaries again')
        else log()?.error(event, 'an instance fails its canaries; docs/monitoring.md says what to do')
      },
    },
    monitors: {
      alarmed(alarm) {
        events.monitors?.alarmed?.(alarm)
        log()?.warn(alarm, 'a monitor raised an alarm; docs/monitoring.md says what to do')
      },
    },
    sandboxes: {
      ...events.sandboxes,
      restarted(change) {
        events.sandboxes?.restarted?.(change)
        log()?.warn(change, 'a process that runs programs ended, and another one takes its place')
      },
      ejected(change) {
        events.sandboxes?.ejected?.(change)
        log()?.warn(change, 'a sandbox server is unavailable')
      },
      readmitted(change) {
        events.sandboxes?.readmitted?.(change)
        log()?.info(change, 'a sandbox server is available again')
      },
    },
    reloads: {
      ended(refusal) {
        events.reloads?.ended?.(refusal)
        if (refusal === null) log()?.info('reloaded: the new configs are in use')
        else log()?.error(reasonOf(refusal), 'a reload failed; the old configs stay in use')
      },
    },
    record: {
      ...events.record,
      disk(trouble) {
        events.record?.disk?.(trouble)
        if (trouble === null) log()?.info('records are written again')
        else
          log()?.error(
            { reason: trouble },
            'records cannot be written; they are dropped, and scoring continues',
          )
      },
    },
  }
}

type LogLines = Readonly<Record<'info' | 'warn', (line: object, text: string) => void>>

/** Says how programs are confined. */
export function logSandboxes(log: LogLines | null, gateway: Pick<Gateway, 'sandboxes'>): void {
  for (const { name: sandbox, backend, confinement } of gateway.sandboxes()) {
    if (confinement === null) continue
    const line = { sandbox, backend, confinement: confinement.text }
    if (confinement.isConfined) log?.info(line, 'programs run in a sandbox')
    else log?.warn(line, 'programs are not confined; docs/code-rewards.md says what they can do')
  }
}

const reasonOf = (refusal: unknown): object =>
  refusal instanceof GatewayError
    ? { code: refusal.code, reason: refusal.message, problems: refusal.problems }
    : { err: refusal }

/** Logs the slowest samples of a request above `seconds`, without their texts. */
export const slowSamples = (seconds: number, log: () => Log | null): EngineEvents => ({
  done(event) {
    for (const line of slowOnes(event, seconds * 1000)) log()?.warn(line, 'a slow sample')
  },
})

/** The slowest samples of a request above `limit` milliseconds, slowest first. */
function slowOnes({ plan, requestId, run, outcomes, ms }: RequestDone, limit: number): object[] {
  let slow = 0
  const slowest: { readonly row: number; readonly took: number }[] = []
  for (let row = 0; row < outcomes.length; row++) {
    const took = ms[row] ?? 0
    if (took <= limit) continue
    slow += 1
    if (slowest.length === slowLines && took <= (slowest.at(-1)?.took ?? 0)) continue
    slowest.push({ row, took })
    slowest.sort((a, b) => b.took - a.took)
    slowest.length = Math.min(slowest.length, slowLines)
  }
  return slowest.map(({ row, took }) => {
    const outcome = outcomes[row]
    return {
      reqId: requestId,
      reward: plan.name,
      run,
      row,
      ms: Math.round(took),
      slow,
      ...(outcome && !outcome.valid && { failure: outcome.failure.kind, step: outcome.failure.step }),
    }
  })
}

/** Minimum time between two lines about a server that keeps changing. */
const pauseMs = 30_000

/** Delay before an event is logged again if the server does not listen yet. */
const startMs = 200

/** Maximum number of servers whose last line is remembered. The oldest are dropped first. */
const mostKept = 10_000

/** Listeners that write the log. */
interface JudgeLog {
  readonly events: ObservedEvents
  /** Cancels lines that are not written yet. */
  end(): void
}

/** One model's server. */
interface Server {
  readonly model: string
  readonly instance: string
}

interface Told {
  isUp: boolean
  at: number
  /** The latest change since the last line; `reason` says why a server is out. */
  next: { readonly isUp: boolean; readonly reason: string } | null
}

/**
 * Wraps the listeners, and logs when a model server becomes unavailable or available again, and when questions are
 * parked. A failed first probe counts as a change, so that the log names missing servers at the start.
 */
export function openJudgeLog(
  events: ObservedEvents,
  log: () => Log | null,
  gateway: () => Pick<Gateway, 'models'> | null,
  clock: Clock,
): JudgeLog {
  const told = new Map<string, Told>()
  const waiting = new Set<() => void>()
  /** The last failed order of each instance, so that repeated failures are logged once. */
  const failures = new Map<string, string>()
  const after = (ms: number, fn: () => void): void => {
    const cancel = clock.after(ms, () => {
      waiting.delete(cancel)
      fn()
    })
    waiting.add(cancel)
  }
  const write = ({ model, instance }: Server, isUp: boolean, reason: string): void => {
    if (isUp) {
      log()?.info({ model, instance }, 'a model server is available again')
      return
    }
    const states = gateway()
      ?.models()
      .find(({ name }) => name === model)
      ?.instances.filter(({ address }) => address !== instance)
      .map(({ state }) => state)
    const isLast = !states?.some((state) => state === 'ready' || state === 'asleep')
    log()?.warn(
      { model, instance, reason },
      isLast
        ? "a model server is unavailable, and its model has no other; 'reward-gateway check --connect CONFIG' says more"
        : 'a model server is unavailable; others of its model are available',
    )
  }
  const news = openParkedNews(clock, {
    begun(model) {
      const found = gateway()
        ?.models()
        .find(({ name }) => name === model)?.parked
      if (!found || log() === null) return false
      const parked_since = new Date(found.since).toISOString()
      log()?.warn(
        { model, parked: found.questions, parked_since },
        'questions are parked: no instance of their model is available; they wait until their deadlines',
      )
      return true
    },
    over: (model) => log()?.info({ model }, 'parked questions continue: their model is available again'),
  })
  const changed = (server: Server, isUp: boolean, reason: string): void => {
    const key = `${server.model} ${server.instance}`
    // There is no log before the server listens.
    if (log() === null) {
      after(startMs, () => changed(server, isUp, reason))
      return
    }
    const now = clock.now()
    const last = told.get(key)
    // No line said that it was out.
    if (!last && isUp) return
    if (last && now - last.at < pauseMs) {
      const isArmed = last.next !== null
      last.next = { isUp, reason }
      if (!isArmed) after(last.at + pauseMs - now, () => catchUp(server, key, last))
      return
    }
    if (last?.isUp === isUp) return
    told.delete(key)
    told.set(key, { isUp, at: now, next: null })
    const eldest = told.keys().next().value
    if (told.size > mostKept && eldest !== undefined) told.delete(eldest)
    write(server, isUp, reason)
  }
  const catchUp = (server: Server, key: string, last: Told): void => {
    const { next } = last
    last.next = null
    if (!next || told.get(key) !== last || next.isUp === last.isUp) return
    last.isUp = next.isUp
    last.at = clock.now()
    write(server, next.isUp, next.reason)
  }
  return {
    events: {
      ...events,
      models: {
        ...events.models,
        ejected(change) {
          events.models?.ejected?.(change)
          changed(change, false, change.reason)
        },
        readmitted(change) {
          events.models?.readmitted?.(change)
          changed(change, true, '')
        },
        orderFailed(failure) {
          events.models?.orderFailed?.(failure)
          const { instance, order, reason } = failure
          if (failures.get(instance) === `${order} ${reason}`) return
          failures.delete(instance)
          failures.set(instance, `${order} ${reason}`)
          const eldest = failures.keys().next().value
          if (failures.size > mostKept && eldest !== undefined) failures.delete(eldest)
          log()?.warn({ ...failure }, 'a model server did not carry out an order')
        },
        switched(change) {
          events.models?.switched?.(change)
          failures.clear()
        },
        parked(change) {
          events.models?.parked?.(change)
          news.parked(change)
        },
      },
    },
    end() {
      for (const cancel of waiting) cancel()
      waiting.clear()
      news.end()
    },
  }
}

/** Logs what an operator must know of the queue. Call `flush` once the log is open: recovery comes before it. */
export function queueLog(log: () => Log | null): QueueEvents & { flush(): void } {
  const early: (() => void)[] = []
  const tell = (line: () => void): void => {
    if (log() === null) early.push(line)
    else line()
  }
  return {
    flush: () => {
      for (const line of early.splice(0)) line()
    },
    disk: (trouble) =>
      tell(() =>
        trouble === null
          ? log()?.info('the disk of the queue works again')
          : log()?.error({ trouble }, 'the disk of the queue fails; docs/queue.md#bounds'),
      ),
    damaged: (run, folder, text) =>
      tell(() => log()?.error({ run, folder, text }, 'the log of a run is damaged; docs/queue.md#damage')),
    leftOut: (folder, text) =>
      tell(() => log()?.warn({ folder, text }, 'the queue left something out at the start')),
    recovered: (run, found) => tell(() => log()?.info({ run, ...found }, 'a run of the queue goes on')),
    dropped: (finals, { finals: keep_finals, bytes: keep_bytes }) =>
      tell(() =>
        log()?.warn(
          { finals, keep_finals, keep_bytes },
          'the queue keeps too many finals: the oldest are removed before queue.keep_s; docs/queue.md#bounds',
        ),
      ),
    lost: () =>
      tell(() => log()?.fatal('another process has taken over the folder of the queue; docs/queue.md')),
  }
}

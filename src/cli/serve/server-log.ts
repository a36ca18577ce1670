import { GatewayError } from '../../core/errors.ts'
import type { createApp } from '../../serving/http/app.ts'
import type { ObservedEvents } from '../../serving/observed-gateway.ts'
import { FunctionFaults } from './function-log.ts'

/** The server's log. */
export type Log = Awaited<ReturnType<typeof createApp>>['log']

const flushMs = 10_000

/** Lines that one request gets at most. */
const slowLines = 5

/**
 * The same listeners, and a line in the log for what people should know at once. `slowSeconds`: a sample that takes longer
 * gets a line, without its texts; undefined: none does.
 */
export function withLog(
  events: ObservedEvents,
  log: () => Log | null,
  slowSeconds: () => number | undefined = () => undefined,
): ObservedEvents {
  const faults = new FunctionFaults((line) => log()?.warn(line, 'a reward function fails'))
  // What was counted in a minute's window is told although nothing else fails.
  setInterval(() => faults.flush(), flushMs).unref()
  return {
    ...events,
    functions(event) {
      events.functions?.(event)
      faults.note(event)
    },
    engine: {
      ...events.engine,
      done(event) {
        events.engine?.done?.(event)
        const limit = slowSeconds()
        if (limit !== undefined)
          for (const line of slowOnes(event, limit * 1000)) log()?.warn(line, 'a slow sample')
      },
    },
    canary: {
      ...events.canary,
      judged(event) {
        events.canary?.judged?.(event)
        if (event.reason === null) log()?.info(event, 'an instance judges rightly again')
        else log()?.error(event, 'an instance fails its canaries; docs/monitoring.md says what to do')
      },
    },
    monitors: {
      alarmed(alarm) {
        events.monitors?.alarmed?.(alarm)
        log()?.warn(alarm, 'a monitor alarms; docs/monitoring.md says what to do')
      },
    },
    reloads: {
      ended(refusal) {
        events.reloads?.ended?.(refusal)
        if (refusal === null) log()?.info('reloaded: what was read is served')
        else log()?.error(reasonOf(refusal), 'a reload is refused; what was served stays')
      },
    },
    record: {
      ...events.record,
      disk(trouble) {
        events.record?.disk?.(trouble)
        if (trouble === null) log()?.info('records are written again')
        else log()?.error({ reason: trouble }, 'records cannot be written; they are dropped, scoring goes on')
      },
    },
  }
}

const reasonOf = (refusal: unknown): object =>
  refusal instanceof GatewayError
    ? { code: refusal.code, reason: refusal.message, problems: refusal.problems }
    : { err: refusal }

type Done = Parameters<NonNullable<NonNullable<ObservedEvents['engine']>['done']>>[0]

/** The slowest samples of a request that took longer than `limit` milliseconds, slowest first. */
function slowOnes({ plan, requestId, run, outcomes, ms }: Done, limit: number): object[] {
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

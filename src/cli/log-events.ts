import { GatewayError } from '../errors.ts'
import type { GatewayOptions } from '../gateway/gateway.ts'
import type { createApp } from '../http/app.ts'

/** The server's log. */
export type Log = Awaited<ReturnType<typeof createApp>>['log']

type Events = NonNullable<GatewayOptions['events']>

/** Lines that one request gets at most. */
const slowLines = 5

/**
 * The same listeners, and a line in the log for what people should know at once. `slowSeconds`: a sample that takes longer
 * gets a line, without its texts; undefined: none does.
 */
export function withLog(
  events: Events,
  log: () => Log | null,
  slowSeconds: () => number | undefined = () => undefined,
): Events {
  return {
    ...events,
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

type Done = Parameters<NonNullable<NonNullable<Events['engine']>['done']>>[0]

/** The slowest samples of a request that took longer than `limit` milliseconds, slowest first. */
function slowOnes({ plan, requestId, run, outcomes, ms }: Done, limit: number): object[] {
  const slow = outcomes.flatMap((outcome, row) =>
    (ms[row] ?? 0) > limit ? { outcome, row, ms: ms[row] ?? 0 } : [],
  )
  return slow
    .sort((a, b) => b.ms - a.ms)
    .slice(0, slowLines)
    .map(({ outcome, row, ms: took }) => ({
      reqId: requestId,
      reward: plan.name,
      run,
      row,
      ms: Math.round(took),
      slow: slow.length,
      ...(!outcome.valid && { failure: outcome.failure.kind, step: outcome.failure.step }),
    }))
}

import { GatewayError } from '../errors.ts'
import type { GatewayOptions } from '../gateway/gateway.ts'
import type { createApp } from '../http/app.ts'

/** The server's log. */
export type Log = Awaited<ReturnType<typeof createApp>>['log']

type Events = NonNullable<GatewayOptions['events']>

/** The same listeners, and a line in the log for what people should know at once. */
export function withLog(events: Events, log: () => Log | null): Events {
  return {
    ...events,
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

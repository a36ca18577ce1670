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

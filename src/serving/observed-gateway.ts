import { systemClock } from '../core/clock.ts'
import { allOf, guardedEvents } from '../core/listener-guard.ts'
import { type EngineEvents, engineEventNames } from '../scoring/engine/events.ts'
import { type Gateway, type GatewayOptions, openGateway, warningGuard } from '../scoring/gateway/gateway.ts'
import { gatewayRooms } from '../scoring/gateway/runtime.ts'
import type { Sampling } from '../scoring/models/interface/ask.ts'
import { declaredRange } from '../scoring/plan/fold.ts'
import type { GatewaySettings } from '../scoring/plan/gateway-config.ts'
import { type MonitorEvents, Monitors, type WatchedRun } from './telemetry/monitors/monitors.ts'
import { openRecord, type RecordEvents, type RecordParts } from './telemetry/record/record.ts'
import { type RunStalls, Stalls } from './telemetry/stalls.ts'

/** Events of the gateway, its record and its monitors. */
export interface ObservedEvents extends NonNullable<GatewayOptions['events']> {
  readonly record?: RecordEvents
  readonly monitors?: MonitorEvents
}

/** The sources of events that listeners can subscribe to. */
export const observedRooms: readonly (keyof ObservedEvents)[] = [...gatewayRooms, 'record', 'monitors']

/** A gateway with the record that its configs ask for, and with monitors of training runs. */
export interface ObservedGateway extends Gateway {
  /** The monitored runs of one reward, or of all. */
  runs(reward?: string): readonly WatchedRun[]
  /** What the training steps of each run waited for. */
  stalls(): readonly RunStalls[]
  /** `isAwaited`: rows of a run's training step have arrived and will be scored later, so that the step is not over. */
  awaitRows(isAwaited: (run: string, step: number | null) => boolean): void
}

/** Options of a gateway; `events` may also listen to the record and the monitors. */
export interface ObservedOptions extends Omit<GatewayOptions, 'events' | 'attach'> {
  readonly events?: ObservedEvents
  /** Further listeners of the engine, as a reading's settings ask for them. */
  readonly listeners?: (settings: GatewaySettings) => Readonly<Record<string, EngineEvents>>
}

/** Throws RG_CONFIG_INVALID or RG_FUNCTION_INVALID with all mistakes; nothing stays open then. */
export async function openObservedGateway(options: ObservedOptions): Promise<ObservedGateway> {
  const clock = options.clock ?? systemClock
  const guard = options.guard ?? warningGuard(clock)
  const { record, monitors: alarms, ...events } = guardedEvents(guard, options.events ?? {}, observedRooms)
  const monitors = new Monitors({ clock, guard, rangeOf: declaredRange, ...(alarms && { events: alarms }) })
  const stalls = new Stalls(clock)
  const parts = { clock, guard, rangeOf: declaredRange, ...(record && { events: record }) }
  const gateway = await openGateway({
    ...options,
    clock,
    guard,
    events: {
      ...events,
      engine: allOf<EngineEvents>(guard, engineEventNames, { engine: events.engine, monitors, stalls }),
    },
    attach(settings, models) {
      const samplingOf = (model: string) => (models.get(model)?.sampling ?? {}) as Sampling
      const record = recordOf(settings, { ...parts, samplingOf })
      const listeners = { ...options.listeners?.(settings), ...(record && { record }) }
      return { listeners, close: async () => record?.close() }
    },
  })
  return Object.assign(gateway, {
    runs: (reward?: string) => monitors.runs(reward),
    stalls: () => stalls.runs(),
    awaitRows: (isAwaited: Stalls['isAwaited']) => {
      stalls.isAwaited = isAwaited
    },
  })
}

/** null if the settings ask for no record. */
function recordOf({ record }: GatewaySettings, parts: RecordParts): ReturnType<typeof openRecord> | null {
  if (!record) return null
  const { folder, text, share, max_file_bytes, max_file_age_s, max_total_bytes } = record
  const limits = {
    maxFileBytes: max_file_bytes,
    maxFileAgeMs: max_file_age_s * 1000,
    maxTotalBytes: max_total_bytes,
  }
  return openRecord({ folder, text, share, ...limits }, parts)
}

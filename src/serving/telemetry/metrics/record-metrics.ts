import type { RecordEvents } from '../record/record.ts'
import type { Instruments } from './instruments.ts'

/** Rows that were recorded, and those that were not. */
export function recordMetrics(make: Instruments): RecordEvents {
  const rows = make.counter('records_total', 'Rows that were recorded.', [])
  const bytes = make.counter('record_bytes_total', 'Bytes of the record, compressed.', [])
  const dropped = make.counter('records_dropped_total', 'Rows that were scored and not recorded.', ['why'])
  for (const why of ['queue', 'disk', 'fault'] as const) dropped(0, why)
  return {
    written(count, size) {
      rows(count)
      bytes(size)
    },
    dropped: (count, why) => dropped(count, why),
  }
}

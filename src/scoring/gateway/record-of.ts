import type { ModelConfig } from '../models/model-config.ts'
import type { Sampling } from '../models/models.ts'
import type { GatewaySettings } from '../plan/gateway-config.ts'
import { openRecord, type Recorder, type RecordParts } from '../../serving/telemetry/record/record.ts'

/** The record that the settings ask for; null: none. */
export function recordOf(
  { record }: GatewaySettings,
  models: ReadonlyMap<string, ModelConfig>,
  parts: Omit<RecordParts, 'samplingOf'>,
): Recorder | null {
  if (!record) return null
  const { folder, text, share, max_file_bytes, max_file_age_s, max_total_bytes } = record
  return openRecord(
    {
      folder,
      text,
      share,
      maxFileBytes: max_file_bytes,
      maxFileAgeMs: max_file_age_s * 1000,
      maxTotalBytes: max_total_bytes,
    },
    { ...parts, samplingOf: (model) => (models.get(model)?.sampling ?? {}) as Sampling },
  )
}

import { z } from 'zod'
import { knownSample } from './canary-config.ts'
import { globalName } from './reward-config.ts'

/** `reload:` of gateway.yaml: what is scored with configs that were read anew before they are served. */
export const reloadConfig = z.strictObject({
  /** By reward; those of one reward are scored as one request. */
  samples: z.record(
    globalName,
    z
      .array(
        knownSample.extend({
          data_source: z.string().optional(),
          group_id: z.string().optional(),
        }),
      )
      .min(1)
      .max(1024),
  ),
  /** How far a sample's reward may be from what the served configs give it; absent: any, within its min and max. */
  max_change: z.number().min(0).optional(),
  /** For all of them. */
  timeout_s: z.number().positive().max(3600).default(60),
})

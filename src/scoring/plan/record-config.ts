import { z } from 'zod'

const mebi = 1024 * 1024
const bytes = z.int().min(64 * 1024)

/** `record:` of gateway.yaml. */
export const recordConfig = z.strictObject({
  /** Relative to this file. */
  folder: z.string().min(1),
  /** Prompts, responses and what judges said of them: whole, as hashes, or not at all. */
  text: z.enum(['full', 'hash', 'none']).default('hash'),
  /** Share of the groups of each request. */
  share: z.number().min(0).max(1).default(1),
  /** Compressed; a file is closed once it is so long, or so old. */
  max_file_bytes: bytes.default(64 * mebi),
  max_file_age_s: z.number().positive().max(86_400).default(3600),
  /** Of all record files in the folder; the oldest are deleted. */
  max_total_bytes: bytes.default(4096 * mebi),
})

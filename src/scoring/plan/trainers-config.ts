import { z } from 'zod'
import { wires } from '../../trainers/index.ts'
import type { Wire } from '../../trainers/wire.ts'
import { wireOnInvalid } from './on-invalid.ts'

const settings = {
  /** Below the trainer's own patience; the wire's own by default. */
  deadline_s: z.number().positive().max(86_400).optional(),
  /** Over the reward's: what stands for what cannot be scored, or an error to the trainer. */
  on_invalid: wireOnInvalid.optional(),
  /** JSON lines with the truth of each prompt, for trainers that send none; relative to this file. */
  ground_truth_file: z.string().min(1).optional(),
}

/** A wire that tells of invalid samples itself takes no number for them, one that looks nothing up no file. */
function settingsOf({ routes, looksUp }: Wire): z.ZodOptional<z.ZodObject<typeof settings>> {
  const { deadline_s, on_invalid, ground_truth_file } = settings
  const tellsAlways = Object.values(routes).every(({ invalid }) => invalid === 'told')
  const taken = { deadline_s, ...(!tellsAlways && { on_invalid }), ...(looksUp && { ground_truth_file }) }
  return z.strictObject(taken as typeof settings).optional()
}

/** Settings of the trainers' own formats, by the wire's name. */
export const trainersConfig: z.ZodObject<Record<string, ReturnType<typeof settingsOf>>> = z.strictObject(
  Object.fromEntries(wires.map((wire) => [wire.name, settingsOf(wire)])),
)

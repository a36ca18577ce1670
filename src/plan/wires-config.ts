import { z } from 'zod'
import { wireOnInvalid } from './on-invalid.ts'

const deadline = {
  /** Below the trainer's own patience; the wire's own by default. */
  deadline_s: z.number().positive().max(86_400).optional(),
}
const substituting = {
  ...deadline,
  /** Over the reward's: what stands for what cannot be scored, or an error to the trainer. */
  on_invalid: wireOnInvalid.optional(),
}
const lookingUp = {
  ...substituting,
  /** JSON lines with the truth of each prompt, for trainers that send none; relative to this file. */
  truths: z.string().min(1).optional(),
}

/** Settings of the trainers' own formats, by the wire's name. */
export const wiresConfig = z.strictObject({
  openrlhf: z.strictObject(lookingUp).optional(),
  slime: z.strictObject(lookingUp).optional(),
  'llama-factory': z.strictObject(lookingUp).optional(),
  'nemo-gym': z.strictObject(deadline).optional(),
  axolotl: z.strictObject(substituting).optional(),
  'open-instruct': z.strictObject(substituting).optional(),
  azure: z.strictObject(substituting).optional(),
  'eval-protocol': z.strictObject(lookingUp).optional(),
})

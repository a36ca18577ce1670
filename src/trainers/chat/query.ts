import { z } from 'zod'
import { templateNames } from './templates.ts'

/** What every wire's address may say. */
export const runQuery = z.strictObject({
  run: z.string().max(128).optional().describe('Name of the training run, for metrics and records.'),
})

/** For wires that send prompt and response in one text. */
export const templateQuery = z.strictObject({
  template: z
    .enum(['none', ...templateNames])
    .optional()
    .describe("The policy's chat template; found by its tokens if absent. none: the texts hold no prompt."),
})

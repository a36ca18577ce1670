import { z } from 'zod'

/** The parts of the guard between a sample and a judge; each is on unless a model's config says otherwise. */
export const guardConfig = z.strictObject({
  /** Values stand between lines with a nonce that their author cannot know. */
  fence: z.boolean().default(true),
  /** Tokens of chat templates and role marks in a value are broken. */
  tokens: z.boolean().default(true),
  /** Texts in a value that look like a judge's verdict are broken. */
  verdicts: z.boolean().default(true),
  /** Zero-width, bidirectional, tag and control characters in a value are made visible. */
  invisible: z.boolean().default(true),
  /** Answers of no content get the low end of the range without a question. */
  refuse: z.boolean().default(true),
  /** A judge's thoughts are cut before its verdict is read. */
  thoughts: z.boolean().default(true),
  /** Answers that repeat the prompt or hold the whole reference are flagged. */
  echoes: z.boolean().default(true),
})

/** Which parts of the guard are on. */
export type GuardConfig = Readonly<z.output<typeof guardConfig>>

/** Every part on. */
export const fullGuard: GuardConfig = guardConfig.parse({})

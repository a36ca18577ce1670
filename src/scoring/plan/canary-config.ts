import { z } from 'zod'

const seconds = z.number().positive().max(86_400)

/** A sample, and the bounds of what is known of its score. */
export const knownSample = z.strictObject({
  /** For logs and metrics. */
  name: z.string().min(1).max(64),
  prompt: z.string().default(''),
  response: z.string(),
  ground_truth: z.unknown().optional(),
  rm_prompt: z.string().optional(),
  extra_info: z.record(z.string(), z.unknown()).default({}),
  /** The score lies within these, ends included. */
  min: z.number().optional(),
  max: z.number().optional(),
})

/** A sample whose verdict is known. */
const probe = knownSample.refine(
  ({ min, max }) => min !== undefined || max !== undefined,
  'a probe needs min or max',
)

/** `canary:` of gateway.yaml. */
export const canaryConfig = z.strictObject({
  every_s: seconds.default(60),
  /** One probe. */
  timeout_s: seconds.default(30),
  /** Rounds in a row with a wrong verdict that take an instance out. */
  wrong_rounds: z.int().min(1).max(100).default(2),
  /** More of the last 20 answers without a verdict take it out, too. */
  max_unreadable: z.number().min(0).max(1).default(0.3),
  /** false: only tell. */
  eject: z.boolean().default(true),
  /** By function name, in place of the shipped probes of that function. */
  probes: z.record(z.string(), z.array(probe).max(64)).default({}),
})

/** A sample whose reward is known, with defaults filled in. */
export type KnownSample = z.output<typeof knownSample>

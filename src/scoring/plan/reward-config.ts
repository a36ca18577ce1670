import { z } from 'zod'
import { modelConfig, samplingConfig } from '../models/api/model-config.ts'
import type { OnInvalid } from './plan.ts'

const seconds = z.number().positive().max(86_400)

/** A name that may stand in a URL, in a metric's label and in a file's name. */
export const globalName = z
  .string()
  .regex(/^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,98}[A-Za-z0-9])?$/, 'letters, digits and . _ - between them')

const stepName = z
  .string()
  .regex(
    /^[A-Za-z][A-Za-z0-9_-]{0,62}$/,
    'a letter, then letters, digits, _ and -; an expression can name it without -',
  )

const oneOrMore = (item: z.ZodString) =>
  z.union([item, z.array(item).min(1)], { error: 'a text or a list of texts' })

const onUnreadable = z.union([z.enum(['fail', 'skip']), z.number()], { error: "'fail', 'skip' or a number" })

/** A weight that changes with the trainer's step. */
export const weightSchedule = z.strictObject({
  /** [training step, weight], steps ascending; constant before the first and after the last. */
  points: z.array(z.tuple([z.number().min(0), z.number()])).min(1),
  /** `hold`: the last point's weight stays until the next one. */
  between: z.enum(['linear', 'hold']).default('linear'),
  /** The weight where a request sends no training step. */
  without_step: z.number(),
})

/** One use of a reward function. */
export const stepConfig = z.strictObject({
  name: stepName,
  function: z.string().min(1),
  options: z.record(z.string(), z.unknown()).default({}),
  /** Global name of a reward model; several are a panel. */
  model: oneOrMore(z.string().min(1)).optional(),
  /** Over the model's own. */
  sampling: samplingConfig.optional(),
  op: z.enum(['add', 'mul']).optional(),
  weight: z.union([z.number(), weightSchedule], { error: 'a number, or points and without_step' }).optional(),
  /** The step is on only where this condition over earlier steps holds. */
  when: z.string().optional(),
  /** Patterns of the sample's data_source: `*` is any text, a leading `!` excludes. */
  data_source: oneOrMore(z.string().min(1)).optional(),
  /** Whether a closed gate turns the step off; model steps are gated by default, rules are not. */
  gated: z.boolean().optional(),
  on_unreadable: onUnreadable.optional(),
  votes: z
    .strictObject({
      /** Questions to each model. */
      n: z.int().min(1).max(64).default(1),
      aggregate: z.enum(['mean', 'median', 'majority', 'quorum']).default('mean'),
      /** Valid draws that are needed, over all models; more than half by default. */
      min: z.int().min(1).optional(),
      /** Ask for no further draws once they cannot change the aggregate. */
      early_stop: z.boolean().default(false),
    })
    .optional(),
  /** `expected`: the mean over the judge's possible replies, by their probability; `sampled`: the reply that it gives. */
  verdict: z.enum(['sampled', 'expected']).optional(),
  /** How a pair reward compares the answers of a group. */
  pairs: z
    .strictObject({
      /** `all`: each with each; `ring`: each with the next ones. */
      scheme: z.enum(['all', 'ring']).default('all'),
      /** Of `ring`: with how many of the next ones. */
      neighbours: z.int().min(1).max(64).default(1),
      /** Ask in both orders and take the mean; what disagrees is flagged. */
      swap: z.boolean().default(true),
      aggregate: z.enum(['bradley_terry', 'mean_wins']).default('bradley_terry'),
    })
    .optional(),
  /** Earlier steps whose scores and texts the function reads. */
  after: oneOrMore(z.string().min(1)).optional(),
  /** One question with all its retries. */
  timeout_s: seconds.optional(),
})

const groupMean = z.union(
  [
    z.literal('group_mean'),
    z.strictObject({ group_mean: z.union([z.number(), z.null()], { error: 'a number or null' }) }),
  ],
  { error: "'group_mean' or {group_mean: <number>}" },
)

/** `on_invalid` of a reward. */
const onInvalidSetting = z.union([z.null(), z.number(), z.literal('fail'), ...groupMean.options], {
  error: "null, a number, 'fail', 'group_mean' or {group_mean: <number>}",
})

/** `on_invalid` as a config writes it. */
export type OnInvalidSetting = z.output<typeof onInvalidSetting>

/** One reward. */
export const rewardConfig = z.strictObject({
  $schema: z.string().optional(),
  /** What trainers ask for; the file's name by default. */
  name: globalName.optional(),
  description: z.string().default(''),
  /** Models of this reward alone, or the same as in gateway.yaml. */
  models: z.record(globalName, modelConfig).default({}),
  /** Model steps run only where this condition holds. */
  gate: z.string().optional(),
  steps: z.array(stepConfig).min(1, 'a list of at least one step').max(64),
  /** In place of the fold: an expression over steps and their parts. */
  formula: z.string().optional(),
  /** A judge's text without a verdict. */
  on_unreadable: onUnreadable.default('fail'),
  /** What a trainer that knows no 'invalid' is given: nothing, a number, the mean of the group's valid siblings (else the number named there), or an error for the whole request. */
  on_invalid: onInvalidSetting.default(null),
  /** `published`: float32, and a closed gate counts as score 0, as VeRL-with-RMs computes. */
  arithmetic: z.enum(['strict', 'published']).default('strict'),
  /** What steps over all answers to a prompt wait for. */
  group: z
    .strictObject({
      /** Answers that must be there; all of the group by default. */
      min: z.int().min(1).optional(),
      /** How long those that are ready wait for the others. */
      wait_s: seconds.optional(),
    })
    .optional(),
  /** The longest a request for this reward may take. */
  deadline_s: seconds.optional(),
})

/** An rm-config with its defaults, not yet resolved. */
export type RewardConfig = z.output<typeof rewardConfig>
/** One of its steps. */
export type StepConfig = z.output<typeof stepConfig>

/** `on_invalid` of a wire, over the reward's. */
export const wireOnInvalid = z.union([z.number(), z.literal('fail'), ...groupMean.options], {
  error: "a number, 'fail', 'group_mean' or {group_mean: <number>}",
})

/** What a setting means; 'group_mean' alone has no fallback. */
export function onInvalidOf(setting: OnInvalidSetting): OnInvalid {
  if (setting === null) return { kind: 'null' }
  if (typeof setting === 'number') return { kind: 'number', value: setting }
  if (setting === 'fail') return { kind: 'fail' }
  return { kind: 'group_mean', fallback: setting === 'group_mean' ? null : setting.group_mean }
}

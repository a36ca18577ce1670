import { z } from 'zod'
import { modelConfig, samplingConfig } from '../models/interface/model-config.ts'
import type { OnInvalid, OnStatus } from './plan.ts'

const seconds = z.number().positive().max(86_400)

/** A name that is valid in URLs, metric labels and file names. */
export const globalName = z
  .string()
  .regex(/^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,98}[A-Za-z0-9])?$/, 'letters, digits and . _ - between them')

const stepName = z
  .string()
  .regex(
    /^[A-Za-z][A-Za-z0-9_-]{0,62}$/,
    'a letter, then letters, digits, _ and -; expressions can only use names without -',
  )

const oneOrMore = (item: z.ZodString) =>
  z.union([item, z.array(item).min(1)], { error: 'a text or a list of texts' })

const onUnreadable = z.union([z.enum(['fail', 'skip']), z.number()], { error: "'fail', 'skip' or a number" })

/** A weight that depends on the training step. */
export const weightSchedule = z.strictObject({
  /** [training step, weight] in ascending order; constant before the first and after the last. */
  points: z.array(z.tuple([z.number().min(0), z.number()])).min(1),
  /** `hold`: keeps a point's weight until the next point. */
  between: z.enum(['linear', 'hold']).default('linear'),
  /** The weight if a request sends no training step. */
  without_step: z.number(),
})

/** One use of a reward function. */
export const stepConfig = z.strictObject({
  name: stepName,
  function: z.string().min(1),
  options: z.record(z.string(), z.unknown()).default({}),
  /** Global name of a reward model; several are a panel. */
  model: oneOrMore(z.string().min(1)).optional(),
  /** Global name of a sandbox, for rewards that run programs. */
  sandbox: z.string().min(1).optional(),
  /** Where gateway.yaml does not define the sandbox: a mistake of the config (the default), or samples that are invalid. */
  without_sandbox: z.enum(['error', 'invalid']).optional(),
  /** Overrides the model's sampling. */
  sampling: samplingConfig.optional(),
  op: z.enum(['add', 'mul']).optional(),
  weight: z
    .union([z.number(), weightSchedule], { error: 'a number, or a schedule with points and without_step' })
    .optional(),
  /** A condition over earlier steps; the step is off unless it holds. */
  when: z.string().optional(),
  /** Patterns for the sample's data_source. `*` matches any text; a leading `!` excludes. */
  data_source: oneOrMore(z.string().min(1)).optional(),
  /** Whether a closed gate turns the step off. Default: true for model steps, false for rules. */
  gated: z.boolean().optional(),
  on_unreadable: onUnreadable.optional(),
  votes: z
    .strictObject({
      /** Votes from each model. */
      n: z.int().min(1).max(64).default(1),
      aggregate: z.enum(['mean', 'median', 'lower_median', 'majority', 'quorum']).default('mean'),
      /** Minimum valid votes over all models. Default: more than half. */
      min: z.int().min(1).optional(),
      /** Stops once further votes cannot change the aggregate. */
      early_stop: z.boolean().default(false),
    })
    .optional(),
  /** `sampled`: the judge's reply. `expected`: the mean over its possible replies, weighted by probability. */
  verdict: z.enum(['sampled', 'expected']).optional(),
  /** For decisions: a second model, whose verdict replaces one whose most likely answer has less than this probability. */
  escalate: z
    .strictObject({
      below: z.number().gt(0).max(1),
      /** Global name of the second model. */
      model: z.string().min(1),
    })
    .optional(),
  /** How a pair reward compares the answers of a group. */
  pairs: z
    .strictObject({
      /** `all`: every pair. `ring`: each answer and the next ones. */
      scheme: z.enum(['all', 'ring']).default('all'),
      /** For `ring`: how many of the next answers. */
      neighbours: z.int().min(1).max(64).default(1),
      /** Asks in both orders and takes the mean; contradictions are flagged. */
      swap: z.boolean().default(true),
      aggregate: z.enum(['bradley_terry', 'mean_wins']).default('bradley_terry'),
    })
    .optional(),
  /** Earlier steps whose scores and texts the function reads. */
  after: oneOrMore(z.string().min(1)).optional(),
  /** Types of parts that the step does not need to see, such as `image`. Any other part that is no text fails it. */
  ignore: oneOrMore(z.string().min(1)).optional(),
  /** Time limit of one question with all its retries. */
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

const scoreOrInvalid = z.enum(['score', 'invalid'])

/** `on_status` of a reward. */
const onStatusSetting = z
  .strictObject({
    truncated: scoreOrInvalid.default('score'),
    tool_limit: scoreOrInvalid.default('score'),
    aborted: scoreOrInvalid.default('invalid'),
    env_error: scoreOrInvalid.default('invalid'),
  })
  .prefault({})

/** One reward. */
export const rewardConfig = z.strictObject({
  $schema: z.string().optional(),
  /** The name that trainers request. Default: the file's name. */
  name: globalName.optional(),
  description: z.string().default(''),
  /** Models of this reward; one that is also in gateway.yaml must be the same. */
  models: z.record(globalName, modelConfig).default({}),
  /** Model steps run only if this condition holds. */
  gate: z.string().optional(),
  steps: z.array(stepConfig).min(1, 'a list of at least one step').max(64),
  /** An expression over steps and their parts that replaces the fold. */
  formula: z.string().optional(),
  /** What a judge's text without a verdict counts as. */
  on_unreadable: onUnreadable.default('fail'),
  /** What an invalid sample becomes for trainers that have no such notion: null, a number, the mean of its group's valid answers (or the fallback given there), or an error for the whole request. */
  on_invalid: onInvalidSetting.default(null),
  /** Whether a rollout is scored that was cut off, ran into a limit of turns, was aborted, or whose environment failed. */
  on_status: onStatusSetting,
  /** `published`: float32, and a closed gate counts as score 0, as in VeRL-with-RMs. */
  arithmetic: z.enum(['strict', 'published']).default('strict'),
  /** What a step over a group waits for. */
  group: z
    .strictObject({
      /** Minimum answers. Default: the whole group. */
      min: z.int().min(1).optional(),
      /** How long the first answers wait for the others. */
      wait_s: seconds.optional(),
    })
    .optional(),
  /** Time limit of a request for this reward. */
  deadline_s: seconds.optional(),
})

/** An rm-config with defaults, not yet resolved. */
export type RewardConfig = z.output<typeof rewardConfig>
/** One of its steps. */
export type StepConfig = z.output<typeof stepConfig>

/** `on_invalid` of a trainer's format; overrides the reward's. */
export const trainerOnInvalid = z.union([z.number(), z.literal('fail'), ...groupMean.options], {
  error: "a number, 'fail', 'group_mean' or {group_mean: <number>}",
})

/** Resolves the setting of a reward that may have mistakes. */
export const onStatusOf = (setting: z.output<typeof onStatusSetting> | undefined): OnStatus =>
  setting ?? onStatusSetting.parse({})

/** Resolves the setting. A plain 'group_mean' has no fallback. */
export function onInvalidOf(setting: OnInvalidSetting): OnInvalid {
  if (setting === null) return { kind: 'null' }
  if (typeof setting === 'number') return { kind: 'number', value: setting }
  if (setting === 'fail') return { kind: 'fail' }
  return { kind: 'group_mean', fallback: setting === 'group_mean' ? null : setting.group_mean }
}

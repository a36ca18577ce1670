/** How a rubric's criteria become a score: the options that judges by rubric share. */

import { z } from 'zod'
import { isBlank, type Sample } from '../core/sample/sample.ts'

export const rubricSumOptions = {
  /** How the criteria become a score. */
  sum: z.enum(['weighted', 'healthbench', 'rar', 'must_all']).default('weighted'),
  /** What the weighted sum is divided by: the positive weight, or all of it. */
  normalise: z.enum(['positive', 'absolute']).default('positive'),
  /** Whether a score below 0 becomes 0. */
  clip: z.boolean().default(true),
  /** The lowest score without `clip`. */
  lowest: z.number().min(-1000).max(0).default(-1),
  /** The score of an answer that fails a criterion with `must`. Default: the lowest. */
  must_score: z.number().optional(),
  /** What becomes of a row with a criterion that has no verdict. */
  missing: z.enum(['invalid', 'renormalise']).default('invalid'),
  /** With `renormalise`: the share of the positive weight that must be answered. */
  min_share: z.number().gt(0).max(1).default(0.8),
  /** Tags whose criteria are also summed apart, as parts. */
  tags: z.array(z.string().min(1).max(120)).max(32).default([]),
}

type RubricSumOptions = z.infer<z.ZodObject<typeof rubricSumOptions>>

/** The low end of the range. */
export const lowestOf = ({ clip, lowest }: Pick<RubricSumOptions, 'clip' | 'lowest'>): number =>
  clip ? 0 : lowest

/** Adds what is wrong with the options of a sum, and which of them have no effect; for `superRefine`. */
export function checkSumOptions(given: RubricSumOptions, context: z.RefinementCtx): void {
  const add = (path: string, message: string): void =>
    context.addIssue({ code: 'custom', path: [path], message })
  const { must_score: score = 1, tags } = given
  const least = lowestOf(given)
  if (!(score >= least && score <= 1)) add('must_score', `must lie within ${least} and 1`)
  if (new Set(tags).size < tags.length) add('tags', 'two of them are the same')
  for (const [path, why] of withoutEffect(given)) add(path, `has no effect ${why}`)
}

function* withoutEffect(given: RubricSumOptions): Generator<readonly [option: string, why: string]> {
  const { sum, clip, missing } = given
  const isChanged = changedFrom(given)
  if (clip && isChanged('lowest')) yield ['lowest', 'without clip: false, since scores end at 0']
  if (missing !== 'renormalise' && isChanged('min_share')) yield ['min_share', 'without missing: renormalise']
  if (sum === 'healthbench' && isChanged('normalise'))
    yield ['normalise', 'that sum: healthbench allows; use sum: weighted']
  if (sum !== 'must_all') return
  for (const option of ['normalise', 'clip', 'must_score', 'missing'] as const)
    if (isChanged(option)) yield [option, 'with sum: must_all, which gives 1 or 0 and needs every verdict']
}

const defaults = z.object(rubricSumOptions).parse({})

/** Whether an option differs from its default. */
const changedFrom =
  (given: RubricSumOptions) =>
  (option: keyof RubricSumOptions): boolean =>
    JSON.stringify(given[option]) !== JSON.stringify(defaults[option])

/**
 * The template for a row. A default one shows a conversation whole: what the user said last may mean nothing without it.
 * An `rm_prompt` stands for all of the prompt.
 */
export function conversationTemplate(
  template: string,
  { prompt, rmPrompt = '' }: Pick<Sample, 'prompt' | 'rmPrompt'>,
  own: string,
): string {
  if (template !== own || typeof prompt === 'string' || !isBlank(rmPrompt)) return template
  const isConversation = prompt.filter(({ role }) => role !== 'system').length > 1
  return isConversation ? template.replaceAll('{question}', '{prompt}') : template
}

/** The settings of the sum, as `rubricScore` takes them. */
export const rubricSumOf = (given: RubricSumOptions) => ({
  ...given,
  mustScore: given.must_score ?? lowestOf(given),
  minShare: given.min_share,
})

/** What a trainer sends for one rollout, read twice: when it is accepted, and when it is scored. */
import { hash } from 'node:crypto'
import { z } from 'zod'
import { noJsonLimits } from '../../core/json/limits.ts'
import { type ParsedText, parseJsonBytes } from '../../core/json/text.ts'
import type { Sample, Unreadable } from '../../core/sample/sample.ts'
import { badSample, nativeSample, readNativeRows } from '../../trainers/native.ts'
import type { Submission } from './run-store.ts'

const sampleSchema = z.toJSONSchema(nativeSample, { io: 'input', target: 'draft-7', unrepresentable: 'any' })

/** The body of PUT /v1/runs/{run}/rollouts/{uid}. */
export const rolloutBody = z.strictObject({
  reward: z.string().min(1).max(256).describe('Name of the reward.'),
  sample: z
    .unknown()
    .refine(
      (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
      'must be an object',
    )
    .meta({ ...sampleSchema, description: 'As in /v1/score. Without an id, its result has the uid.' }),
  images: z
    .record(z.string(), z.string())
    .optional()
    .describe('As in /v1/score: data URLs by the SHA-256 of their bytes.'),
  training_step: z.int().min(0).optional().describe('As in /v1/score.'),
  deadline_s: z
    .number()
    .positive()
    .max(7 * 86_400)
    .optional()
    .describe('Seconds from now in which the rollout gets its final. Default: queue.deadline_s.'),
  priority: z.int().min(-10).max(10).default(0).describe('Rollouts with a higher number are scored first.'),
  partial: z
    .boolean()
    .optional()
    .describe('Also gives an early result, with the terms of its rules. Default: false.'),
  attempt: z
    .int()
    .min(1)
    .max(2 ** 31)
    .optional()
    .describe(
      'Number of the attempt. It must be higher than that of the newest one, unless the bytes are the same. Default: one more if the bytes are new.',
    ),
})

type RolloutBody = z.output<typeof rolloutBody>

/** A uid in a path or a line. */
export const uidPattern = /^[!-~]{1,200}$/
/** The name of a run in a path. */
export const runPattern = /^[\w.:-]{1,128}$/

/** What the store keeps of a rollout. `seconds`: its deadline; `now`: Unix time in milliseconds. */
export function submissionOf(
  uid: string,
  rollout: RolloutBody,
  body: Buffer,
  { seconds, now }: { readonly seconds: number; readonly now: number },
): Submission {
  const { reward, training_step: step, priority, attempt } = rollout
  const { group_id, group_size, policy_version } = rollout.sample as Readonly<Record<string, unknown>>
  const policy = firstVersion(policy_version)
  return {
    uid,
    digest: hash('sha256', body, 'base64').slice(0, 32),
    deadline: now + (rollout.deadline_s ?? seconds) * 1000,
    reward,
    priority,
    ...(step !== undefined && { step }),
    ...(isName(group_id) && { group: String(group_id) }),
    ...(Number.isSafeInteger(group_size) && { size: group_size as number }),
    ...(isName(policy) && { policy }),
    ...(rollout.partial && { partial: true as const }),
    attempt,
    body,
  }
}

const isName = (value: unknown): value is string | number =>
  (typeof value === 'string' && value.length <= 1024) || Number.isSafeInteger(value)

const firstVersion = (version: unknown): unknown =>
  typeof version === 'object' && version !== null && 'first' in version ? version.first : version

/** The row of a rollout that was accepted. */
export async function rowOf(uid: string, body: Buffer): Promise<Sample | Unreadable> {
  let parsed: ParsedText
  try {
    parsed = await parseJsonBytes(body, noJsonLimits)
  } catch (error) {
    if (error instanceof SyntaxError) return badSample(uid, 'the rollout is nested too deep')
    throw error
  }
  const { value, literals } = parsed
  const { sample, images } = value as RolloutBody
  const own = sample as Readonly<Record<string, unknown>>
  const named = Object.hasOwn(own, 'id') && own.id != null ? own : { ...own, id: uid }
  const ofSample = literals
    .filter(({ path }) => path[0] === 'sample')
    .map(({ path, literal }) => ({ path: ['samples', 0, ...path.slice(1)], literal }))
  const [row] = await readNativeRows([named], ofSample, images)
  return row as Sample | Unreadable
}

import { z } from 'zod'
import type { OnInvalid } from './plan.ts'

const groupMean = z.union(
  [
    z.literal('group_mean'),
    z.strictObject({ group_mean: z.union([z.number(), z.null()], { error: 'a number or null' }) }),
  ],
  { error: "'group_mean' or {group_mean: <number>}" },
)

/** `on_invalid` of a reward. */
export const onInvalidSetting = z.union([z.null(), z.number(), z.literal('fail'), ...groupMean.options], {
  error: "null, a number, 'fail', 'group_mean' or {group_mean: <number>}",
})

/** `on_invalid` as a config writes it. */
export type OnInvalidSetting = z.output<typeof onInvalidSetting>

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

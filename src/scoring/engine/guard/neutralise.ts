import { drained } from '../../../core/slices.ts'
import type { GuardConfig } from '../../models/api/guard-config.ts'
import { isAscii } from './ascii.ts'
import { withoutInvisible } from './invisible.ts'
import { withoutLookAlikes } from './look-alikes.ts'

/**
 * A value with nothing in it that a judge or a parser could take for structure; adds to `found` the parts that changed
 * it. First what hides: a look-alike with invisible characters in it is broken by what they are shown as.
 */
export function neutralised(value: string, guard: GuardConfig, found: Set<string>): string {
  return drained(neutralising(value, guard, found))
}

/** The same, piece by piece: a value of megabytes that is nothing but attacks takes a second. */
export function* neutralising(
  value: string,
  guard: GuardConfig,
  found: Set<string>,
): Generator<void, string> {
  let ascii = isAscii(value)
  let text = value
  if (guard.invisible) {
    text = yield* withoutInvisible(value, ascii)
    if (text !== value) {
      found.add('invisible')
      ascii = false
    }
  }
  return guard.tokens || guard.verdicts ? yield* withoutLookAlikes(text, guard, found, ascii) : text
}

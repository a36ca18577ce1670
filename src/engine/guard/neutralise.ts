import type { GuardConfig } from '../../models/guard-config.ts'
import { withoutInvisible } from './invisible.ts'
import { withoutLookAlikes } from './look-alikes.ts'

/**
 * A value with nothing in it that a judge or a parser could take for structure; adds to `found` the parts that changed
 * it. First what hides: a look-alike with invisible characters in it is broken by what they are shown as.
 */
export function neutralised(value: string, guard: GuardConfig, found: Set<string>): string {
  let text = value
  if (guard.invisible) {
    text = withoutInvisible(value)
    if (text !== value) found.add('invisible')
  }
  return guard.tokens || guard.verdicts ? withoutLookAlikes(text, guard, found) : text
}

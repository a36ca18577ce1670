import { z } from 'zod'
import { defineRule, type Score } from '../src/contract/index.ts'
import { tagFormat } from '../src/grading/tags.ts'

const tag = z.stringFormat('a tag name', /^[A-Za-z][\w-]{0,63}$/)

/**
 * Pays 1 if the response consists of the given tags, each once and in order, with text inside and none
 * outside, else 0. `credit: each` pays the share of checks that hold, 0 to 1.
 *
 * Never invalid; reads no ground truth.
 */
export default defineRule({
  truth: z.unknown(),
  options: z.strictObject({
    /** Names of the tags, in order. */
    tags: z.array(tag).min(1).max(16).default(['think', 'answer']),
    /**
     * `all`: 1 or 0. `each`: the share of tags that are right. With `outside: forbid`, the text outside counts
     * as one more tag.
     */
    credit: z.enum(['all', 'each']).default('all'),
    /** `allow`: text outside of the tags costs nothing. */
    outside: z.enum(['forbid', 'allow']).default('forbid'),
    /** Whether the prompt ends with the first opening tag. */
    opened: z.boolean().default(false),
  }),
  range: [0, 1],
  score({ sample, options: { tags, credit, outside, opened } }): Score {
    const { kept, alone } = tagFormat(sample.response, tags, opened)
    const whole = kept.length === tags.length && (alone || outside === 'allow')
    if (whole) return { value: 1 }
    const missing = tags.filter((tag) => !kept.includes(tag))
    const reason = missing.length > 0 ? `tags: ${missing.join(', ')}` : 'text_outside'
    const checks = tags.length + Number(outside === 'forbid')
    return { value: credit === 'all' ? 0 : kept.length / checks, details: { reason } }
  },
})

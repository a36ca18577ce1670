import { z } from 'zod'
import { defineRule, type Score } from '../src/contract/index.ts'
import { tagFormat } from '../src/grading/tags.ts'

const tag = z.stringFormat('a tag name', /^[A-Za-z][\w-]{0,63}$/)

/**
 * Scores whether the response consists of the given tags, each once and in order, with text inside and none
 * outside.
 */
export default defineRule({
  truth: z.unknown(),
  options: z.strictObject({
    tags: z.array(tag).min(1).max(16).default(['think', 'answer']),
    /**
     * `all`: 1 or 0. `each`: the share of tags that are right, where text outside the tags counts as one more
     * tag.
     */
    credit: z.enum(['all', 'each']).default('all'),
    outside: z.enum(['forbid', 'allow']).default('forbid'),
    /** The prompt ends with the first opening tag. */
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

import { z } from 'zod'
import { defineRule, type Sample, type Score, scope } from '../src/contract/index.ts'
import { isBlank } from '../src/grading/characters.ts'
import { type TagFormat, tagFormat } from '../src/grading/tags.ts'

const tag = z.stringFormat('a tag name', /^[A-Za-z][\w-]{0,63}$/)

/**
 * Pays 1 if the response consists of the given tags, each once and in order, with text inside and none
 * outside, else 0. `credit: each` pays the share of checks that hold, 0 to 1.
 *
 * Earlier turns of the assistant are one more check: each turn with text must hold the first tag, or the first few, in
 * the same way. So a turn that calls a tool may hold only its thinking.
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
    /** The turns that are checked. */
    scope,
  }),
  range: [0, 1],
  score({ sample, options: { tags, credit, outside, opened, scope } }): Score {
    const { kept, alone } = tagFormat(sample.response, tags, opened)
    const whole = kept.length === tags.length && (alone || outside === 'allow')
    const before = scope === 'all' ? earlierTexts(sample) : []
    const wrong = before.findIndex((text) => !isBeginning(tagFormat(text, tags, opened), tags, outside))
    if (whole && wrong < 0) return { value: 1 }
    const missing = tags.filter((tag) => !kept.includes(tag))
    const ofLast = missing.length > 0 ? `tags: ${missing.join(', ')}` : 'text_outside'
    const checks = tags.length + Number(outside === 'forbid') + Number(before.length > 0)
    const held = kept.length + Number(whole && outside === 'forbid') + Number(before.length > 0 && wrong < 0)
    return {
      value: credit === 'all' ? 0 : held / checks,
      details: { reason: whole ? `turn ${wrong + 1}` : ofLast },
    }
  },
})

/** The texts of the assistant's turns before its last one. */
function earlierTexts({ turns = [] }: Pick<Sample, 'turns'>): readonly string[] {
  const own = turns.filter(({ role }) => role === 'assistant')
  return own.slice(0, -1).flatMap(({ content }) => (isBlank(content) ? [] : [content]))
}

/** Whether a text has the first tags of the list, at least one, and no others. */
function isBeginning(
  { kept, alone }: TagFormat,
  tags: readonly string[],
  outside: 'forbid' | 'allow',
): boolean {
  return kept.length > 0 && kept.every((tag, at) => tag === tags[at]) && (alone || outside === 'allow')
}

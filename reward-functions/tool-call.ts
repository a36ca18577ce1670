import { z } from 'zod'
import { defineRule, mode, type Score } from '../src/contract/index.ts'
import { isBlank } from '../src/grading/index.ts'
import {
  firstDifference,
  isObject,
  type Sameness,
  sameMultiset,
  typed,
  unpaired,
} from '../src/grading/json/identity.ts'
import { type JsonValue, readJson } from '../src/grading/json/json.ts'
import { blocks, pairedBlocks } from '../src/grading/tags.ts'

const variants = ['general', 'grpo', 'egpo'] as const
type Variant = (typeof variants)[number]

/** The calls in a text, or why there are none. `format`: the text earns the credit for tags. */
type Reading = { readonly format: boolean } & (
  | { readonly calls: readonly JsonValue[] }
  | { readonly reason: string }
)

const open = '<tool_call>'
const close = '</tool_call>'

/** The published code compares Python sets of sets: it loses order and repetition, and treats `true` as 1. */
const setsOfSets: Sameness = { listsAsSets: true, booleansAsNumbers: true, nanEqualsNan: true }

/**
 * Function calls as `<tool_call>` JSON. Pays 1 if the calls in the response match those in the ground truth,
 * in any order, else 0. `variant: general` adds 0.1 for the form: 0 to 1.1.
 *
 * Never invalid: a ground truth without readable calls pays 0 with the flag `bad_ground_truth`.
 */
export default defineRule({
  truth: z.unknown(),
  options: z.strictObject({
    mode,
    /** `general`: 0.1 for the form. `grpo`: no credit for it. `egpo`: no credit, and the thinking is required. */
    variant: z.enum(variants).default('general'),
  }),
  range: ({ variant }) => [0, variant === 'general' ? 1.1 : 1],
  parts: ['format', 'correctness'],
  score({ sample, truth, options: { mode, variant } }) {
    const published = mode === 'published'
    const response: unknown = sample.response
    if (typeof response !== 'string') return scoreOfNoText(response, variant, published)
    const given = published ? publishedAnswer(response, variant) : strictAnswer(response, variant)
    if (!('calls' in given)) return verdict(variant, given.format, false, { reason: given.reason })
    const wanted = published ? publishedCalls(truth) : strictCalls(truth)
    if (!('calls' in wanted)) {
      const reason = `ground truth: ${wanted.reason}`
      const low = verdict(variant, published && given.format, false, { reason })
      return { ...low, flags: ['bad_ground_truth'] }
    }
    const sameness = published ? setsOfSets : typed
    if (sameMultiset(given.calls, wanted.calls, sameness)) return verdict(variant, given.format, true, {})
    return verdict(variant, given.format, false, {
      reason: 'unequal',
      at: difference(given.calls, wanted.calls, sameness),
    })
  },
})

function verdict(
  variant: Variant,
  format: boolean,
  correct: boolean,
  details: Record<string, string>,
): Score {
  const parts = { format: Number(format), correctness: Number(correct) }
  return { value: parts.correctness + (variant === 'general' && format ? 0.1 : 0), parts, details }
}

/**
 * The published code searches a list for the tags as elements, and throws for anything but a text or a list.
 */
function scoreOfNoText(response: unknown, variant: Variant, published: boolean): Score {
  if (published && variant === 'general' && !Array.isArray(response)) {
    throw new TypeError('the response is not a text')
  }
  const format = published && Array.isArray(response) && response.includes(open) && response.includes(close)
  return verdict(variant, format, false, { reason: 'not_text' })
}

function publishedAnswer(response: string, variant: Variant): Reading {
  if (variant !== 'egpo') return publishedCalls(response)
  const end = response.lastIndexOf('</think>\n\n')
  return end < 0 ? { format: false, reason: 'no_thinking' } : publishedCalls(response.slice(end))
}

/** Any text between tags is a call: parsed as JSON if possible, otherwise unchanged. */
function publishedCalls(text: unknown): Reading {
  if (typeof text !== 'string') return { format: false, reason: 'not_text' }
  const format = text.includes(open) && text.includes(close)
  const found = blocks(text, open, close)
  if (found.length === 0) return { format, reason: 'no_call' }
  const calls = found.map((block) => {
    const reading = readJson(block)
    return reading ? reading.value : block
  })
  return { format, calls }
}

function strictAnswer(response: string, variant: Variant): Reading {
  const end = response.indexOf('</think>')
  if (response.indexOf('</think>', end + 1) > end) return { format: false, reason: 'thinking_repeated' }
  if (response.lastIndexOf('<think>') > end) return { format: false, reason: 'thinking_unclosed' }
  if (variant === 'egpo') {
    const thinking = response.slice(0, Math.max(end, 0))
    if (isBlank(thinking.replaceAll('<think>', ''))) return { format: false, reason: 'no_thinking' }
  }
  return strictCalls(end < 0 ? response : response.slice(end + '</think>'.length))
}

/** Requires paired tags, strict JSON between them, and nothing but calls. */
function strictCalls(text: unknown): Reading {
  if (typeof text !== 'string') return { format: false, reason: 'not_text' }
  const found = pairedBlocks(text, open, close)
  if (found === null) return { format: false, reason: 'tags_unbalanced' }
  if (found.length === 0) return { format: false, reason: 'no_call' }
  const calls: JsonValue[] = []
  for (const block of found) {
    const reading = readJson(block)
    if (!reading || reading.constants) return { format: false, reason: 'not_json' }
    if (reading.repeatedKeys) return { format: false, reason: 'repeated_key' }
    if (!isCall(reading.value)) return { format: false, reason: 'not_a_call' }
    calls.push(reading.value)
  }
  return { format: true, calls }
}

function isCall(value: JsonValue): boolean {
  if (!isObject(value) || value.size !== 2) return false
  const name = value.get('name')
  const args = value.get('arguments')
  return typeof name === 'string' && name !== '' && args !== undefined && isObject(args)
}

/** The first unmatched call, and where it differs from the first unmatched wanted call. */
function difference(given: readonly JsonValue[], wanted: readonly JsonValue[], sameness: Sameness): string {
  const [at] = unpaired(given, wanted, sameness)
  const [missing] = unpaired(wanted, given, sameness)
  if (at === undefined) return `wanted call ${(missing ?? 0) + 1}: missing`
  if (missing === undefined) return `call ${at + 1}: not wanted`
  return `call ${at + 1}: ${firstDifference(given[at] ?? null, wanted[missing] ?? null) || 'all of it'}`.slice(
    0,
    200,
  )
}

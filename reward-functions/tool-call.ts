import { z } from 'zod'
import {
  type AnsweredCall,
  defineRule,
  mode,
  type Sample,
  type Score,
  toolCallsOf,
  turnsOf,
} from '../src/contract/index.ts'
import { isBlank } from '../src/grading/index.ts'
import {
  type AnyJson,
  firstDifference,
  type Sameness,
  sameMultiset,
  typed,
  unpaired,
} from '../src/grading/json/identity.ts'
import { readJson } from '../src/grading/json/json.ts'
import { blocks } from '../src/grading/tags.ts'
import {
  callEnd,
  callStart,
  listedCalls,
  listedCallsIn,
  structuredCalls,
  textCalls,
} from '../src/grading/tool-calls.ts'

const variants = ['general', 'grpo', 'egpo'] as const
type Variant = (typeof variants)[number]

/** The calls in a text, or why there are none. `format`: the text earns the credit for tags. */
type Reading = { readonly format: boolean } & (
  | { readonly calls: readonly AnyJson[] }
  | { readonly reason: string }
)

/** The published code compares Python sets of sets: it loses order and repetition, and treats `true` as 1. */
const setsOfSets: Sameness = { listsAsSets: true, booleansAsNumbers: true, nanEqualsNan: true }

/**
 * Function calls. Pays 1 if the calls of the rollout match those in the ground truth, in any order, else 0.
 * `variant: general` adds 0.1 for the form: 0 to 1.1.
 *
 * Reads the calls that the trainer sent as such, of all turns, or else `<tool_call>` JSON in the response. `details.read`
 * says which. The ground truth is a list of calls, its JSON text, or a text with such tags.
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
    const sent = sample.toolCalls ?? toolCallsOf(sample)
    const read = sent.length > 0 ? 'structured' : 'text'
    const given =
      sent.length > 0
        ? sentAnswer(sample, sent, variant, published)
        : published
          ? publishedAnswer(response, variant)
          : strictAnswer(response, variant)
    if (!('calls' in given)) return verdict(variant, given.format, false, { read, reason: given.reason })
    const wanted = wantedCalls(truth, published, read)
    if (!('calls' in wanted)) {
      const reason = `ground truth: ${wanted.reason}`
      const low = verdict(variant, published && given.format, false, { read, reason })
      return { ...low, flags: ['bad_ground_truth'] }
    }
    const sameness = published ? setsOfSets : typed
    if (sameMultiset(given.calls, wanted.calls, sameness))
      return verdict(variant, given.format, true, { read })
    return verdict(variant, given.format, false, {
      read,
      reason: 'unequal',
      at: difference(given.calls, wanted.calls, sameness),
    })
  },
})

/** A text is read as a response is, faults included; a list, also as its JSON text, as trainers write calls. */
function wantedCalls(truth: unknown, published: boolean, read: 'structured' | 'text'): Reading {
  if (Array.isArray(truth) && !(published && read === 'text')) return formed(listedCalls(truth))
  const listed = typeof truth === 'string' && !published ? listedCallsIn(truth) : null
  if (listed) return formed(listed)
  return published ? publishedCalls(truth) : strictCalls(truth)
}

const formed = (reading: ReturnType<typeof textCalls>): Reading => ({
  format: 'calls' in reading,
  ...reading,
})

/** The calls that the trainer sent as such. Strict mode refuses them if the policy also wrote tags of calls as text. */
function sentAnswer(
  sample: Sample,
  sent: readonly AnsweredCall[],
  variant: Variant,
  published: boolean,
): Reading {
  const own = turnsOf(sample).filter(({ role }) => role === 'assistant')
  const isThinking = own.some(
    ({ reasoning = '', content }) =>
      !isBlank(reasoning) ||
      !isBlank(content.slice(0, Math.max(content.indexOf('</think>'), 0)).replaceAll('<think>', '')),
  )
  if (variant === 'egpo' && !isThinking) return { format: false, reason: 'no_thinking' }
  const isWritten = own.some(({ content }) => {
    const answer = content.slice(content.lastIndexOf('</think>') + 1)
    return answer.includes(callStart) || answer.includes(callEnd)
  })
  if (!published && isWritten) return { format: false, reason: 'tags_beside_calls' }
  // A number that is not finite was read as null.
  const isLost = sample.flags?.includes('non_finite_input') && sent.some((call) => holdsNull(call.arguments))
  return isLost ? { format: false, reason: 'malformed_call' } : formed(structuredCalls(sent))
}

const holdsNull = (value: unknown): boolean =>
  value === null || (typeof value === 'object' && Object.values(value).some(holdsNull))

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
  const format =
    published && Array.isArray(response) && response.includes(callStart) && response.includes(callEnd)
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
  const format = text.includes(callStart) && text.includes(callEnd)
  const found = blocks(text, callStart, callEnd)
  if (found.length === 0) return { format, reason: 'no_call' }
  const calls = found.map((block) => {
    const reading = readJson(block)
    return reading ? reading.value : block
  })
  return { format, calls }
}

function strictAnswer(sent: string, variant: Variant): Reading {
  // Marks of thinking in capitals are no place where a call counts, either.
  const response = sent.replace(/<\/?think>/gi, (tag) => tag.toLowerCase())
  const end = response.indexOf('</think>')
  if (response.indexOf('</think>', end + 1) > end) return { format: false, reason: 'thinking_repeated' }
  if (response.lastIndexOf('<think>') > end) return { format: false, reason: 'thinking_unclosed' }
  if (variant === 'egpo') {
    const thinking = response.slice(0, Math.max(end, 0))
    if (isBlank(thinking.replaceAll('<think>', ''))) return { format: false, reason: 'no_thinking' }
  }
  return strictCalls(end < 0 ? response : response.slice(end + '</think>'.length))
}

function strictCalls(text: unknown): Reading {
  return typeof text === 'string' ? formed(textCalls(text)) : { format: false, reason: 'not_text' }
}

/** The first unmatched call, and where it differs from the first unmatched wanted call. */
function difference(given: readonly AnyJson[], wanted: readonly AnyJson[], sameness: Sameness): string {
  const [at] = unpaired(given, wanted, sameness)
  const [missing] = unpaired(wanted, given, sameness)
  if (at === undefined) return `wanted call ${(missing ?? 0) + 1}: missing`
  if (missing === undefined) return `call ${at + 1}: not wanted`
  return `call ${at + 1}: ${firstDifference(given[at] ?? null, wanted[missing] ?? null) || 'all of it'}`.slice(
    0,
    200,
  )
}

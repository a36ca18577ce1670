import { z } from 'zod'
import { defineRule, finalAnswer, type Message, type Sample, type Score } from '../src/contract/index.ts'
import { compatible, whiteSpace } from '../src/grading/characters.ts'
import { isBlank } from '../src/grading/index.ts'

const space = new RegExp(`[${whiteSpace}\\p{Cf}]+`, 'gu')

/** The set of a text's character n-grams, without case, white space and invisible characters. A shorter text is one n-gram. Linear. */
export function gramsOf(text: string, n: number): ReadonlySet<string> {
  const points = Array.from(compatible(text).toLowerCase().replace(space, ''))
  const grams = new Set<string>()
  if (points.length > 0 && points.length < n) grams.add(points.join(''))
  for (let at = 0; at + n <= points.length; at++)
    grams.add(n === 1 ? (points[at] ?? '') : points.slice(at, at + n).join(''))
  return grams
}

/** The share of common members in all members of two sets, 0 to 1; 0 for two empty ones. */
export function jaccard(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  const [small, large] = a.size < b.size ? [a, b] : [b, a]
  let same = 0
  for (const one of small) if (large.has(one)) same++
  return same === 0 ? 0 : same / (a.size + b.size - same)
}

/**
 * A penalty for an answer that says again what the assistant said in an earlier turn, of the prompt or of the rollout. Turns are
 * compared by the Jaccard similarity of their sets of character n-grams, apart from case and white space. Pays
 * `max_penalty` from `threshold` on, and 0 below it. `ngram: 1` compares sets of characters, which tells Chinese sentences
 * apart, but not longer texts in Latin letters.
 *
 * Never invalid; reads no ground truth. Thinking and calls of tools do not count.
 */
export default defineRule({
  truth: z.unknown(),
  options: z.strictObject({
    /** Characters per n-gram. */
    ngram: z.int().min(1).max(10).default(3),
    /** The similarity that counts as a repeat. */
    threshold: z.number().gt(0).max(1).default(0.8),
    /** The score of a repeat. */
    max_penalty: z.number().negative().default(-1),
    /** How many of the latest turns are compared. */
    turns: z.int().min(1).max(1000).default(100),
  }),
  range: ({ max_penalty }) => [max_penalty, 0],
  score({ sample, options: { ngram, threshold, max_penalty, turns } }): Score {
    const answer = gramsOf(finalAnswer(sample).text, ngram)
    let [similarity, turn] = [0, 0]
    for (const [ago, text] of earlierAnswers(sample).reverse().slice(0, turns).entries()) {
      const same = jaccard(answer, gramsOf(text, ngram))
      if (same > similarity) [similarity, turn] = [same, ago + 1]
    }
    if (similarity < threshold) return { value: 0, details: { similarity } }
    return { value: max_penalty, details: { similarity, reason: `repeats turn -${turn}` } }
  },
})

/** What the assistant said before, in order. */
function earlierAnswers({ prompt, turns = [] }: Sample): string[] {
  const before: readonly Message[] = typeof prompt === 'string' ? [] : prompt
  const own = [
    ...before,
    ...turns.slice(
      0,
      turns.findLastIndex(({ role }) => role === 'assistant'),
    ),
  ]
  return own
    .filter(({ role, content }) => role === 'assistant' && !isBlank(content))
    .map(({ content }) => finalAnswer({ prompt: '', response: content }).text)
}

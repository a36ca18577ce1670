import { singleSpaced, trimSpace } from './characters.ts'
import { blocks } from './tags.ts'
import { unspaced } from './words.ts'

const punctuation = /[!-/:-@[-`{-~]/g
const wordlessPunctuation = /[!-"$-*,-/:-@[-`{-~]/g
const articles = /(?<![\p{L}\p{N}_])(?:a|an|the)(?![\p{L}\p{N}_])/gu
const token = new RegExp(`[${unspaced}]|[^ ${unspaced}]+`, 'gu')

/** The trimmed content of the last `<answer>...</answer>`, or null. */
export function lastAnswerTag(text: string): string | null {
  const last = blocks(text, '<answer>', '</answer>').at(-1)
  return last === undefined ? null : trimSpace(last)
}

/**
 * SQuAD's normal form: lower case, no ASCII punctuation, no articles, single spaces. `keepSigns` keeps `+`
 * and `#` (C++, C#).
 */
export function searchNormal(text: string, keepSigns = false): string {
  const words = text.toLowerCase().replace(keepSigns ? wordlessPunctuation : punctuation, '')
  return singleSpaced(words.replace(articles, ' '))
}

/**
 * True if the answer contains the target's words in sequence and at most `extra` other words. Both must be
 * normalised.
 */
export function holdsWords(answer: string, target: string, extra: number): boolean {
  const given = answer.match(token) ?? []
  const wanted = target.match(token) ?? []
  if (wanted.length === 0 || given.length > wanted.length + extra) return false
  return ` ${given.join(' ')} `.includes(` ${wanted.join(' ')} `)
}

/** The targets of a search row, `{ target: text or texts }`. Throws if there are none. */
export function searchTargets(truth: unknown): readonly string[] {
  const target = typeof truth === 'object' && truth !== null && 'target' in truth ? truth.target : undefined
  const targets: readonly unknown[] = Array.isArray(target) ? target : [target]
  if (targets.every((text) => typeof text === 'string')) return targets
  throw new TypeError('the ground truth has no texts in target')
}

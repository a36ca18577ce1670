/** Scripts without spaces between words, for use inside [] of a pattern. */
export const unspaced = '\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Thai}'
const word = new RegExp(`[${unspaced}]|[[\\p{L}\\p{N}\\p{M}'’_]--[${unspaced}]]+`, 'gv')

/**
 * The lower-case words of a text. In scripts without spaces, each character is a word.
 *
 * @example
 * ```ts
 * import { words } from 'reward-gateway/grading'
 *
 * words('To be, or not') // ['to', 'be', 'or', 'not']
 * ```
 */
export const words = (text: string): string[] => text.toLowerCase().match(word) ?? []

/**
 * The share of n-grams that occurred earlier, 0 to 1. 0 if there are no n-grams. Linear.
 *
 * @example
 * ```ts
 * import { repeatedShare, words } from 'reward-gateway/grading'
 *
 * repeatedShare(words('so so so good'), 1) // 0.5
 * ```
 */
export function repeatedShare(items: readonly string[], n: number): number {
  const total = items.length - n + 1
  if (total < 1) return 0
  const { numbers: single, kinds: words } = numbered(items)
  let { numbers: grams, kinds } = { numbers: single, kinds: words }
  for (let size = 2; size <= n; size++) {
    if (kinds * words > mostKinds) ({ numbers: grams, kinds } = numbered(grams))
    const longer = new Array<number>(items.length - size + 1)
    for (let at = 0; at < longer.length; at++)
      longer[at] = (grams[at] ?? 0) * words + (single[at + size - 1] ?? 0)
    grams = longer
    kinds *= words
  }
  return 1 - new Set(grams).size / total
}

/** Sets of integers below this are several times faster. */
const mostKinds = 2 ** 30

/** Numbers items from 0 so that equal items get equal numbers. */
function numbered(items: readonly (string | number)[]): {
  readonly numbers: number[]
  readonly kinds: number
} {
  const known = new Map<string | number, number>()
  const numbers = new Array<number>(items.length)
  for (let at = 0; at < items.length; at++) {
    const item = items[at] ?? ''
    let number = known.get(item)
    if (number === undefined) {
      number = known.size
      known.set(item, number)
    }
    numbers[at] = number
  }
  return { numbers, kinds: known.size }
}

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
  const single = numbered(items)
  let grams = single
  for (let size = 2; size <= n; size++) {
    grams = numbered(
      grams.slice(0, items.length - size + 1).map((gram, i) => pair(gram, single[i + size - 1])),
    )
  }
  return 1 - new Set(grams).size / total
}

/** Numbers items from 0 so that equal items get equal numbers. */
function numbered(items: readonly (string | number)[]): number[] {
  const numbers = new Map<string | number, number>()
  return items.map((item) => {
    const known = numbers.get(item)
    if (known !== undefined) return known
    numbers.set(item, numbers.size)
    return numbers.size - 1
  })
}

const pair = (a: number, b = 0): number => a * 2 ** 26 + b

/** Scripts that part no words; inside [] of a pattern. */
export const unspaced = '\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Thai}'
const word = new RegExp(`[${unspaced}]|[[\\p{L}\\p{N}\\p{M}'’_]--[${unspaced}]]+`, 'gv')

/** The words of a text in lower case; scripts without spaces give one word a character. */
export const words = (text: string): string[] => text.toLowerCase().match(word) ?? []

/** Share of a text's word n-grams that occurred before, 0 to 1; 0 where there is no n-gram. Linear in the text. */
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

/** Equal items get equal numbers, counted from 0. */
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

import { asciiDigits } from '../digits.ts'
import { readDecimal } from '../number/decimal.ts'

/** How a GraphWiz task is answered. The original calls the heaviest triangle `triplet`, its revision `triangle`. */
export const wizTasks: ReadonlyMap<string, 'word' | 'number' | 'order'> = new Map([
  ['cycle', 'word'],
  ['connectivity', 'word'],
  ['hamilton', 'word'],
  ['substructure', 'word'],
  ['bipartite', 'word'],
  ['flow', 'number'],
  ['shortest', 'number'],
  ['triplet', 'number'],
  ['triangle', 'number'],
  ['topology', 'order'],
])

const numeral = /[-+]?[0-9.,]+/g

/** The only number of a text, in its one spelling; null: none, an unreadable one, or different ones. */
export function onlyNumber(text: string): string | null {
  const numerals = (text.match(numeral) ?? []).filter((found) => /[0-9]/.test(found))
  const numbers = new Set(numerals.map((found) => readDecimal(withoutFinalMarks(found))))
  const [number = null] = numbers
  return numbers.size === 1 ? number : null
}

/** Full stops and commas that end a clause. */
function withoutFinalMarks(found: string): string {
  let end = found.length
  while (found[end - 1] === '.' || found[end - 1] === ',') end--
  return found.slice(0, end)
}

/** `yes` or `no`, where a text holds one of the two words and not the other; null elsewhere. */
export function onlyYesNo(text: string): 'yes' | 'no' | null {
  const words = new Set(text.toLowerCase().match(/(?<![\p{L}\p{N}_])(?:yes|no)(?![\p{L}\p{N}_])/gu))
  if (words.size !== 1) return null
  return words.has('yes') ? 'yes' : 'no'
}

/** The last number of a text as the original reads it, without sign or exponent; 0 where it has none. */
export function lastLooseNumeral(text: string): number {
  const joined = text.replace(/(\p{Nd}),(\p{Nd})/gu, '$1$2')
  const numbers = joined.match(/\p{Nd}+(?:\.\p{Nd}+)?/gu)
  return Number(asciiDigits(numbers?.at(-1) ?? '0'))
}

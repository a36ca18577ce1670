/** The parts that PRIME's grader and Qwen2.5-Math's share. Both descend from one `math_equal`. */

/** Whether a number equals the wanted one, or a hundredth or a hundred times it, within a relative 1e-4. */
export const isNearOrPercent = (given: number, wanted: number): boolean =>
  [wanted / 100, wanted, wanted * 100].some((one) => isClose(one, given))

/** Python's `math.isclose` with a relative tolerance of 1e-4. */
const isClose = (a: number, b: number): boolean =>
  a === b || (Number.isFinite(a - b) && Math.abs(a - b) <= 1e-4 * Math.max(Math.abs(a), Math.abs(b)))

/**
 * Both texts without braces and round brackets. Outer brackets are removed as well if only the answer has
 * them, or both have the same.
 */
export function insides(answer: string, truth: string): readonly [string, string] {
  const isLoose =
    (isIn(answer, '[', ']') && !truth.startsWith('(')) || (isIn(answer, '(', ')') && !truth.startsWith('['))
  const bare = (text: string): string => (isLoose ? withoutBrackets(text) : text).replace(/[{}()]/g, '')
  return [bare(answer), bare(truth)]
}

const isIn = (text: string, open: string, close: string): boolean =>
  text.startsWith(open) && text.endsWith(close)

function withoutBrackets(text: string): string {
  let [start, end] = [0, text.length]
  while (start < end && '[]()'.includes(text.charAt(start))) start++
  while (end > start && '[]()'.includes(text.charAt(end - 1))) end--
  return text.slice(start, end)
}

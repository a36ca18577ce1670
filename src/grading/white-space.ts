/** Unicode white space as Python sees it (JavaScript's `\s` also has U+FEFF and lacks 001C-001F, 0085); inside [] of a pattern. */
export const whiteSpace =
  '\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000'

const space = new RegExp(`[${whiteSpace}]`)

/** True for one UTF-16 unit of white space; false for ''. */
export const isSpace = (unit: string): boolean => space.test(unit)

const spaces = new RegExp(`[${whiteSpace}]+`, 'g')

/** Every run of white space as one blank, none at the ends. */
export const singleSpaced = (text: string): string => trimSpace(text.replace(spaces, ' '))

/** Without white space at both ends. */
export function trimSpace(text: string): string {
  let start = 0
  let end = text.length
  while (start < end && isSpace(text.charAt(start))) start++
  while (end > start && isSpace(text.charAt(end - 1))) end--
  return text.slice(start, end)
}

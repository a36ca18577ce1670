import { isSpace, trimSpace } from '../white-space.ts'

interface BareKey {
  /** Where the key begins and ends, and where its colon is. */
  readonly start: number
  readonly end: number
  readonly colon: number
}

/**
 * The published repair of a judge's JSON: curly quotes straightened, keys without quotes quoted; `backslashes`: deleted
 * as well. It also shortens white space before keys. Linear; the published patterns backtrack.
 */
export function quoteKeys(text: string, backslashes: boolean): string {
  let straight = text.replace(/[“”]/g, '"')
  if (backslashes) straight = straight.replaceAll('\\', '')
  const quoted = quoteEach(straight)
  const first = quoted.startsWith('{') ? bareKey(quoted, 1) : null
  return first ? `{${spelled(quoted, first)}${quoted.slice(first.colon + 1)}` : quoted
}

function quoteEach(text: string): string {
  let result = ''
  let done = 0
  for (const { index } of text.matchAll(/[{,]/g)) {
    const key = index < done ? null : bareKey(text, index + 1)
    if (!key) continue
    result += text.slice(done, key.start) + spelled(text, key)
    done = key.colon + 1
  }
  return result + text.slice(done)
}

const spelled = (text: string, { start, end }: BareKey): string =>
  `"${trimSpace(text.slice(start, end)).replaceAll('"', '')}":`

/**
 * What `\s*([^"':,{}][^:,{]*?)\s*:` matches at `at`. Where the first character that is no space may not begin a key,
 * the space before it does: so backtracking has it.
 */
function bareKey(text: string, at: number): BareKey | null {
  let start = at
  while (isSpace(text.charAt(start))) start++
  const first = text.charAt(start)
  const spaced = start > at
  if (first === '' || ('"\':,{}'.includes(first) && !spaced)) return null
  const unfit = '"\':,{}'.includes(first)
  let colon = start
  while (colon < text.length && !':,{'.includes(text.charAt(colon))) colon++
  if (text[colon] !== ':') return null
  if (unfit) start--
  let end = colon
  while (end > start + 1 && isSpace(text.charAt(end - 1))) end--
  return { start, end, colon }
}

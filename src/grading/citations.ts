import { asciiDigits } from './characters.ts'
import { words } from './words.ts'

/** What an answer cites. */
export interface Citations {
  /** The ids behind statements, each once, in order. */
  readonly cited: readonly string[]
  /** Marks at the beginning of a line or behind no statement. They cite nothing. */
  readonly loose: number
  /** The most marks behind one statement. */
  readonly mostTogether: number
  /** Whether one statement has the same mark twice. */
  readonly isRepeated: boolean
}

const bracketed = /[[【]([^[\]【】\n]{1,200})[\]】]/g
const separator = /[,;，；、]/
const range = /^([0-9]{1,4})\s?[-–—]\s?([0-9]{1,4})$/
const plainNumber = /^[0-9]{1,9}$/
const lineStart = /(?:^|\n)[\s>*•-]{0,20}$/
/** The address of a mark that is a link. */
const linkTarget = /^\([^()\s]{0,2000}\)/
const longestRange = 100

/** A number without leading zeros, another id as it stands. */
export const citationId = (id: string): string => {
  const plain = asciiDigits(id).trim().replace(/^\^/, '')
  return plainNumber.test(plain) ? String(Number(plain)) : plain
}

/** The ids in one pair of brackets; null if it is no mark. `[2-4]` is three ids. */
function idsIn(text: string, known: ReadonlySet<string>): readonly string[] | null {
  const ids: string[] = []
  for (const item of text.split(separator)) {
    const [, first = '', last = ''] = range.exec(asciiDigits(item).trim()) ?? []
    const id = citationId(item)
    if (first !== '' && Number(last) >= Number(first) && Number(last) - Number(first) < longestRange)
      for (let at = Number(first); at <= Number(last); at++) ids.push(String(at))
    else if (plainNumber.test(id) || known.has(id)) ids.push(id)
    else return null
  }
  return ids
}

/** A text with its code as blanks, so that an index (`list[1]`) is no mark. */
const withoutCode = (text: string): string =>
  text.replace(/^ {0,3}```[\s\S]*?(?:^ {0,3}```|$(?![\s\S]))|`[^`\n]{1,200}`/gm, (code) =>
    ' '.repeat(code.length),
  )

/**
 * The citations of an answer: numbers and `known` ids in square brackets behind a statement of at least `least` words. Marks with
 * fewer words between them stand behind the same statement, and so do those behind a statement that is repeated. Linear.
 */
export function citationsOf(answer: string, known: ReadonlySet<string>, least: number): Citations {
  const text = withoutCode(answer)
  const cited = new Set<string>()
  const together = new Map<string, Set<string>>()
  let isRepeated = false
  let statement: string | null = null
  let loose = 0
  let end = 0
  for (const match of text.matchAll(bracketed)) {
    const ids = idsIn(match[1] ?? '', known)
    if (ids === null) continue
    const gap = text.slice(end, match.index).replace(linkTarget, '')
    end = match.index + match[0].length
    const said = words(gap)
    if (lineStart.test(gap.slice(-40)) && (gap.includes('\n') || statement === null)) {
      statement = null
      loose += ids.length
      continue
    }
    if (said.length >= least) statement = said.join(' ')
    if (statement === null) {
      loose += ids.length
      continue
    }
    const behind = together.get(statement) ?? new Set()
    together.set(statement, behind)
    for (const id of ids) {
      isRepeated ||= behind.has(id)
      behind.add(id)
      cited.add(id)
    }
  }
  let mostTogether = 0
  for (const { size } of together.values()) mostTogether = Math.max(mostTogether, size)
  return { cited: [...cited], loose, mostTogether, isRepeated }
}

/** Fenced blocks of Markdown, as CommonMark has them: in list items and quotes too. Model text; linear in it. */

/** A fenced block: its language in lower case ('' if none) and its text. */
export interface Fence {
  readonly language: string
  readonly text: string
}

/** Where a list item's text begins, or a fence that is open. */
interface OpenFence {
  readonly mark: string
  readonly language: string
  /** Columns before its mark, and those of them that belong to the list item that it stands in. */
  readonly column: number
  readonly item: number
  readonly quotes: number
  readonly lines: string[]
}

/** Characters of a line in which marks are looked for. */
const mostMarks = 200
/** List items and quotes within each other. */
const mostLevels = 20

/**
 * Closed fenced blocks: three or more backticks or tildes, closed by at least as many. What indents the mark is taken off each line of its text. A line
 * of the text may be indented less than its list item: models write such lists.
 */
export function fencesOf(text: string): Fence[] {
  const found: Fence[] = []
  let open: OpenFence | null = null
  /** Columns at which the text of open list items begins. */
  let items: readonly number[] = []
  let isAfterBlank = true
  for (let at = 0; at <= text.length; ) {
    const end = text.indexOf('\n', at)
    const next = end < 0 ? text.length + 1 : end + 1
    const line = text.slice(at, next - 1)
    at = next
    if (open) {
      const inner = unquoted(line, open.quotes)
      if (inner === null) open = null
      else if (closes(inner, open)) {
        found.push({ language: open.language, text: textOf(open) })
        open = null
      } else open.lines.push(inner)
      continue
    }
    const isBlank = /^[ \t\r]*$/.test(line.slice(0, mostMarks))
    if (!isBlank) {
      const start = startOf(line.slice(0, mostMarks), items, isAfterBlank)
      items = start.items
      open = start.fence
    }
    isAfterBlank = isBlank
  }
  return found
}

const fenceMark = /^(`{3,}|~{3,})[ \t]*([^\r]*?)[ \t\r]*$/
const itemMark = /^(?:[-*+]|\d{1,9}[.)])(?=[ \t\r]|$)/

/** What begins on a line outside of fences: list items, and a fence. */
function startOf(
  line: string,
  before: readonly number[],
  isAfterBlank: boolean,
): { readonly items: readonly number[]; readonly fence: OpenFence | null } {
  let quotes = 0
  let rest = line
  while (quotes < mostLevels && /^ {0,3}>/.test(rest)) {
    rest = rest.replace(/^ {0,3}> ?/, '')
    quotes++
  }
  let column = indentOf(rest)
  rest = rest.trimStart()
  const isMark = itemMark.test(rest) || fenceMark.test(rest)
  // A line of text may go on in a list item without its indent.
  let items = isAfterBlank || isMark ? before.filter((item) => item <= column) : before
  for (;;) {
    const inner = column - (items.at(-1) ?? 0)
    const [item] = inner > 3 || items.length >= mostLevels ? [] : (itemMark.exec(rest) ?? [])
    if (item === undefined) {
      const [, mark = '', info = ''] = (inner <= 3 && fenceMark.exec(rest)) || []
      const isOpen = mark !== '' && !(mark.startsWith('`') && info.includes('`'))
      const language = (info.split(/[\s{,]/)[0] ?? '').toLowerCase()
      return {
        items,
        fence: isOpen ? { mark, language, column, item: items.at(-1) ?? 0, quotes, lines: [] } : null,
      }
    }
    const behind = rest.slice(item.length)
    const blanks = indentOf(behind, column + item.length)
    const isWide = blanks > 4 || behind.trim() === ''
    items = [...items, column + item.length + (isWide ? 1 : blanks)]
    column += item.length + blanks
    rest = behind.trimStart()
  }
}

/** The text of a fence without what indents its mark. Lines that leave the list item, as models write them, keep how they stand to each other. */
function textOf({ lines, column, item }: OpenFence): string {
  let least = item
  for (const line of lines) if (/[^ \t\r]/.test(line)) least = Math.min(least, indentOf(line))
  const columns = least < item ? least : column
  return lines.map((line) => `${withoutColumns(line, columns)}\n`).join('')
}

/** A line without its marks of quotes. null: it has not as many, so that what they held has ended. */
function unquoted(line: string, quotes: number): string | null {
  let rest = line
  for (let level = 0; level < quotes; level++) {
    if (!/^ {0,3}>/.test(rest)) return null
    rest = rest.replace(/^ {0,3}> ?/, '')
  }
  return rest
}

function closes(line: string, { mark, column }: OpenFence): boolean {
  const [, end = '', info = ''] = fenceMark.exec(line.slice(0, mostMarks).trimStart()) ?? []
  return info === '' && end[0] === mark[0] && end.length >= mark.length && indentOf(line) <= column + 3
}

/** Columns of the blanks before a text that begins at `from`. A tab goes to the next multiple of four. */
function indentOf(text: string, from = 0): number {
  let column = from
  for (const sign of text.slice(0, mostMarks)) {
    if (sign === ' ') column++
    else if (sign === '\t') column += 4 - (column % 4)
    else break
  }
  return column - from
}

/** A line without its first blanks, of at most so many columns. */
function withoutColumns(line: string, columns: number): string {
  let [column, at] = [0, 0]
  while (column < columns && (line[at] === ' ' || line[at] === '\t')) {
    column += line[at] === ' ' ? 1 : 4 - (column % 4)
    at++
  }
  return ' '.repeat(Math.max(0, column - columns)) + line.slice(at)
}

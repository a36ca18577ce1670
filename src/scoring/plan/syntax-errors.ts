import { type Document, isMap, isSeq, type LineCounter, visit } from 'yaml'

interface Found {
  readonly offset: number
  readonly message: string
}

/** A mistake of syntax spoils what follows, so only the first is told; each key that stands twice is. */
export function syntaxErrors(document: Document, lines: LineCounter): Found[] {
  const [first, ...later] = document.errors
  const told = [...(first ? [first] : []), ...later.filter(({ code }) => code === 'DUPLICATE_KEY')]
  return told.map((error) => ({
    offset: error.pos[0],
    message: wordsOf(error.message, document, lines, error.pos[0]),
  }))
}

/** YAML's own words, or which bracket is not closed. */
function wordsOf(message: string, document: Document, lines: LineCounter, at: number): string {
  const [, end] = /and end with a ([\]}])$/.exec(message) ?? []
  if (end === undefined) return message
  let opened = -1
  visit(document, {
    Collection(_, node) {
      const isKind = end === ']' ? isSeq(node) : isMap(node)
      const start = node.range?.[0] ?? 0
      // The innermost one that ends here, since the bracket that would end it is missing.
      if (isKind && node.flow && start < at && (node.range?.[1] ?? 0) >= at - 1)
        opened = Math.max(opened, start)
    },
  })
  const bracket = end === ']' ? '[' : '{'
  const where = opened === -1 ? '' : ` of line ${lines.linePos(opened).line}`
  return `the '${bracket}'${where} is not closed: a '${end}' is missing`
}

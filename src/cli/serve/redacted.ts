import type { Json, Sample } from '../../core/sample/sample.ts'

/** Words of the messages that Python and JavaScript write themselves; they stay even where a sample has them too. */
const ownWords = new Set(
  `a an and any are argument arguments array at attribute base be been before bool boolean by bytes call callable can cannot
  character char class column codec convert could decode defined dict dictionary division does dtype empty encode error
  exception exceeded expected failed file find float for found from function got has have import in index indices input
  instance int integer integers into invalid is it iterable item items json key keys len length limit line list literal map
  math memory method missing module most must name named no none not nonetype null number numeric object of on only operand
  operands or out pack parameter position positional properties property range read reading recursion required returned
  returning reward score sequence set shape size str string strings subscriptable such supported syntax take takes than that
  the to token too traceback tuple type types undefined unexpected unhashable unpack unsupported unterminated value values
  was were with without zero recent last call stack assertion lookup overflow os runtime timeout rangeerror referenceerror
  syntaxerror typeerror valueerror keyerror indexerror attributeerror nameerror assertionerror zerodivisionerror
  importerror modulenotfounderror memoryerror recursionerror runtimeerror unicodedecodeerror jsondecodeerror oserror
  fault`.split(/\s+/),
)

/** Characters of a sample that are looked at; of a longer one no word of an error is shown. */
const mostCharacters = 2_000_000
const mostLines = 8
const lineLength = 300

/**
 * The message and the last lines of what a function threw, without the words and numbers of its samples: each that
 * occurs in one of their texts is `…`, whatever its case, unless it is one of the interpreters' own words.
 */
export function redacted(error: string, texts: readonly string[]): string {
  const length = texts.reduce((sum, text) => sum + text.length, 0)
  const known = length > mostCharacters ? null : texts.join('\n').normalize('NFKC').toLowerCase()
  return endsOf(error)
    .map((line) =>
      line
        .slice(0, lineLength)
        .replace(/\\(?:[nrt]|x[\da-f]{2}|u[\da-f]{4})/gi, ' ')
        .replace(/\p{Cc}/gu, ' ')
        .replace(/[\p{L}\p{N}\p{M}]+/gu, (word) => {
          const plain = word.normalize('NFKC').toLowerCase()
          return ownWords.has(plain) || (known !== null && !known.includes(plain)) ? word : '…'
        }),
    )
    .join('\n')
}

/** Frames of Node and of this package's own executors say nothing of the function. */
const isOwnFrame = (line: string): boolean =>
  /^\s+at .*(?:node:|[\\/]functions[\\/]worker[\\/])/.test(line.slice(0, 1000))

/** The first lines, where JavaScript's message begins, and the last ones, where Python's stands. */
function endsOf(error: string): string[] {
  const lines = error
    .trimEnd()
    .split('\n')
    .filter((line) => !isOwnFrame(line))
  return lines.length <= mostLines ? lines : [...lines.slice(0, 2), '…', ...lines.slice(3 - mostLines)]
}

/** Every text of a sample. */
export function textsOf(sample: Sample): string[] {
  const texts: string[] = []
  for (const value of Object.values(sample)) add(value as Json, texts, 0)
  return texts
}

/** Every text within a value, its keys too. */
export function add(value: Json | undefined, texts: string[], depth: number): void {
  if (typeof value === 'string') texts.push(value)
  else if (typeof value === 'number') texts.push(String(value))
  else if (typeof value === 'object' && value !== null && depth < 64)
    for (const [key, item] of Object.entries(value)) {
      if (!Array.isArray(value)) texts.push(key)
      add(item, texts, depth + 1)
    }
}

import { trimSpace } from './characters.ts'
import { isList, isObject } from './json/identity.ts'
import { type JsonValue, readJson } from './json/json.ts'

/** One cell of a logic grid puzzle. */
interface ZebraCell {
  readonly house: string
  readonly column: string
  readonly value: string
}

/** A response's solution of the whole grid. */
interface ZebraPrediction {
  readonly solution: JsonValue
  /** 0 without reasoning. */
  readonly reasoningLength: number
}

/** Reads a cell. undefined: it is empty. May throw where the original does. */
type CellReader = (solution: JsonValue, house: string, column: string) => string | undefined

/** The cells of a solution: row i is house i, named by the first column. */
export function zebraCells(header: readonly string[], rows: readonly (readonly string[])[]): ZebraCell[] {
  return rows.flatMap((row, at) =>
    header.slice(1).map((column, index) => ({
      house: `House ${at + 1}`,
      column,
      value: cellText(row[index + 1] ?? ''),
    })),
  )
}

/** The number of right cells. */
export function rightCells(cells: readonly ZebraCell[], solution: JsonValue, read: CellReader): number {
  return cells.filter(({ house, column, value }) => read(solution, house, column) === value).length
}

/** The object that the original reads: the last text between outer braces, even inside strings. */
export function publishedPrediction(response: string): ZebraPrediction | null {
  const last = outerBraces(response, false).at(-1)
  return last === undefined ? null : predictionOf(last.replaceAll('\n', ''), true)
}

/** The last object with a `solution` object and without repeated keys. */
export function strictPrediction(response: string): ZebraPrediction | null {
  const read = (inTexts: boolean) => outerBraces(response, inTexts).map((text) => predictionOf(text, false))
  const objects = [...read(false), ...read(true)].filter((prediction) => prediction !== null)
  return objects.at(-1) ?? null
}

/**
 * The original's reading of a cell: the first entry of a list. It throws for numbers, objects and malformed
 * houses.
 */
export const publishedCell: CellReader = (solution, house, column) => {
  if (!contains(solution, house)) return undefined
  const columns = member(solution, house)
  if (!contains(columns, column)) return undefined
  const value = member(columns, column)
  if (value === null || value === '' || (isList(value) && value.length === 0)) return undefined
  const first = isList(value) ? value[0] : value
  if (typeof first !== 'string') throw new TypeError(`${house}, ${column}: not a text`)
  return cellText(first)
}

/** A text or a number in a cell. Nothing else counts. */
export const strictCell: CellReader = (solution, house, column) => {
  const columns = isObject(solution) ? solution.get(house) : undefined
  const value = columns !== undefined && isObject(columns) ? columns.get(column) : undefined
  return typeof value === 'string' || typeof value === 'number' ? cellText(String(value)) : undefined
}

const cellText = (value: string): string => trimSpace(value).toLowerCase()

/** Texts between outer braces. `inTexts`: braces inside JSON strings do not count. Linear. */
function outerBraces(text: string, inTexts: boolean): string[] {
  const found: string[] = []
  let depth = 0
  let start = 0
  let quoted = false
  for (let at = 0; at < text.length; at++) {
    const character = text[at]
    if (quoted && character === '\\') at++
    else if (character === '"' && inTexts && depth > 0) quoted = !quoted
    else if (quoted) continue
    else if (character === '{' && depth++ === 0) start = at
    else if (character === '}' && depth > 0 && --depth === 0) found.push(text.slice(start, at + 1))
  }
  return found
}

function predictionOf(text: string, repeatedKeys: boolean): ZebraPrediction | null {
  const reading = readJson(text)
  if (!reading || !isObject(reading.value) || (reading.repeatedKeys && !repeatedKeys)) return null
  const solution = reading.value.get('solution')
  if (solution === undefined || solution === null) return null
  if (!repeatedKeys && !isObject(solution)) return null
  const reasoning = reading.value.get('reasoning')
  return { solution, reasoningLength: typeof reasoning === 'string' ? [...reasoning].length : 0 }
}

/** Python's `in`: a key, an element or a substring. */
function contains(value: JsonValue, name: string): boolean {
  if (isObject(value)) return value.has(name)
  if (isList(value)) return value.includes(name)
  if (typeof value === 'string') return value.includes(name)
  throw new TypeError(`nothing can be in a ${value === null ? 'null' : typeof value}`)
}

function member(value: JsonValue, name: string): JsonValue {
  if (!isObject(value)) throw new TypeError(`${name} cannot be looked up in a text or a list`)
  return value.get(name) ?? null
}

/** How one prediction is chosen from several or built from them. */
export const zebraChoices = [
  'best',
  'majority',
  'most_common',
  'middle_common',
  'least_common',
  'longest',
  'median',
  'shortest',
] as const

type ZebraChoice = (typeof zebraChoices)[number]

type Predictions = readonly [ZebraPrediction, ...ZebraPrediction[]]

interface Marks {
  readonly right: number
  readonly reasoningLength: number
}

/** The chosen prediction's right cells and length of reasoning. Ties go to the first. */
export function chosenMarks(
  choice: ZebraChoice,
  cells: readonly ZebraCell[],
  predictions: Predictions,
  read: CellReader,
): Marks {
  if (predictions.length === 1) return marksOf(predictions[0])
  if (choice === 'majority') return majority()
  const value = measure()
  const rising = [...predictions].sort((a, b) => value(a) - value(b))
  const highest = value(rising.at(-1) as ZebraPrediction)
  const first = predictions.find((prediction) => value(prediction) === highest) ?? predictions[0]
  switch (choice) {
    case 'best':
    case 'most_common':
      return marksOf(first)
    case 'longest':
      return marksOf(rising.at(-1) ?? first)
    case 'median':
    case 'middle_common':
      return marksOf(rising[Math.floor(rising.length / 2)] ?? first)
    default:
      return marksOf(rising[0] ?? first)
  }

  function marksOf({ solution, reasoningLength }: ZebraPrediction): Marks {
    return { right: rightCells(cells, solution, read), reasoningLength }
  }

  function measure(): (prediction: ZebraPrediction) => number {
    if (choice === 'best') return ({ solution }) => rightCells(cells, solution, read)
    if (!choice.endsWith('common')) return ({ reasoningLength }) => reasoningLength
    const votes = cells.map(votesFor)
    return ({ solution }) =>
      cells.reduce((sum, { house, column }, at) => {
        const value = read(solution, house, column)
        return sum + (value === undefined ? 0 : (votes[at]?.get(value) ?? 0))
      }, 0)
  }

  function votesFor({ house, column }: ZebraCell): Map<string, number> {
    const votes = new Map<string, number>()
    for (const { solution } of predictions) {
      const value = read(solution, house, column)
      if (value !== undefined) votes.set(value, (votes.get(value) ?? 0) + 1)
    }
    return votes
  }

  function majority(): Marks {
    const right = cells.filter((cell) => {
      const votes = votesFor(cell)
      return mostVoted(votes) === cell.value
    }).length
    return { right, reasoningLength: predictions[0].reasoningLength }
  }
}

/** The value with the most votes, the first on ties. undefined without votes. */
function mostVoted(votes: ReadonlyMap<string, number>): string | undefined {
  let [most, found]: [number, string | undefined] = [0, undefined]
  for (const [value, count] of votes) if (count > most) [most, found] = [count, value]
  return found
}

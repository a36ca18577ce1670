import { type CellReader, rightCells, type ZebraCell, type ZebraPrediction } from './zebra.ts'

/** How one prediction is made or taken out of several. */
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

/** One of them. */
export type ZebraChoice = (typeof zebraChoices)[number]

type Predictions = readonly [ZebraPrediction, ...ZebraPrediction[]]

interface Marks {
  readonly right: number
  readonly reasoningLength: number
}

/** What the chosen prediction is worth: right squares, and the length of its reasoning. First met wins a tie. */
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

/** The value with the most votes, the first met of several; undefined where nobody voted. */
function mostVoted(votes: ReadonlyMap<string, number>): string | undefined {
  let [most, found]: [number, string | undefined] = [0, undefined]
  for (const [value, count] of votes) if (count > most) [most, found] = [count, value]
  return found
}

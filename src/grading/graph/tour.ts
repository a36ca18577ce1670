import {
  type Airports,
  firstPositions,
  graphAirports,
  publishedAirports,
  strictAirports,
} from './airports.ts'
import type { Faults } from './faults.ts'
import { badProblem, type Finding, invalid, noAnswer, raised, solution } from './finding.ts'
import { capitalLists, innermostLists, piecesOf } from './lists.ts'
import type { Problem } from './problem.ts'
import { isEmptyGraph, readGraph } from './read-graph.ts'

/** What the original takes for the way between two airports that nothing connects. */
const unconnectedKilometres = 99_999

/** Travelling salesman: a round trip over all airports. The value is its length in kilometres. */
export function checkTour(problem: Problem, text: string, faults: Faults): Finding {
  return faults.graphsUnchecked ? checkAsPublished(problem, text, faults) : checkSoundly(problem, text)
}

function checkSoundly({ problemText, graph, given }: Problem, text: string): Finding {
  if (given === 'text' && typeof problemText !== 'string')
    return badProblem('the text of the problem is no text')
  const airports = given === 'text' ? strictAirports(String(problemText)) : graphAirports(graph)
  if (typeof airports === 'string') return badProblem(airports)
  if (!airports?.distances.isComplete()) return badProblem('the graph does not hold all distances')
  const list = innermostLists(text).at(-1)
  return list === undefined ? noAnswer('no list after the thinking') : toured(airports, list)
}

function checkAsPublished(
  { problemText, graph: value, given }: Problem,
  text: string,
  faults: Faults,
): Finding {
  const graph = readGraph(value)
  if (graph === null) return badProblem('the graph is unreadable')
  const fromText = given === 'text' && Boolean(problemText)
  if (fromText && typeof problemText !== 'string') return raised('the text of the problem is no text')
  if (!fromText && isEmptyGraph(graph)) return noAnswer('the graph is empty')
  const airports = fromText ? publishedAirports(String(problemText)) : graphAirports(value)
  const list = capitalLists(text).at(-1)
  if (!airports || list === undefined) return noAnswer('no list of airports')
  if (given === 'text' && !fromText) return toured({ names: airports.names }, list)
  return toured(airports, list, faults)
}

function toured(
  { names, distances }: Partial<Airports> & Pick<Airports, 'names'>,
  list: string,
  faults?: Faults,
): Finding {
  const position = firstPositions(names)
  const stops = piecesOf(list).map((name) => position.get(name))
  const route = stops.slice(0, -1)
  const isTour =
    route.length === names.length && new Set(route).size === names.length && route[0] === stops.at(-1)
  if (!isTour || stops.includes(undefined))
    return invalid('not every airport once and back to the first', list)
  if (faults?.distancesFilled && distances?.fill(unconnectedKilometres) === false) {
    return { status: 'budget_spent', reason: 'too many distances would have to be made up' }
  }
  let kilometres = 0
  for (const [at, from] of route.entries()) {
    kilometres += distances?.get(from!, stops[at + 1]!) ?? Number.NaN
  }
  return Number.isFinite(kilometres) ? solution(kilometres, list) : raised('a distance is not known')
}

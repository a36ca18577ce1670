import { asciiDigits, trimSpace } from '../characters.ts'
import { badProblem, type Faults, type Finding, invalid, noAnswer, raised, solution } from './finding.ts'
import { Graph, isEmptyGraph, isObject, nodeKey, parsedJson, readGraph } from './graph.ts'
import { capitalLists, innermostLists, piecesOf } from './lists.ts'
import type { Problem } from './problem.ts'

/** Distances are not filled in for more stops than this, because that takes cubic time. */
const mostFilled = 200

/** Symmetric distances between stops by position. undefined if unknown. */
class Distances {
  readonly #size: number
  readonly #known = new Map<number, number>()

  constructor(size: number) {
    this.#size = size
  }

  set(from: number, to: number, distance: number): void {
    this.#known.set(from * this.#size + to, distance)
    this.#known.set(to * this.#size + from, distance)
  }

  get(from: number, to: number): number | undefined {
    return this.#known.get(from * this.#size + to)
  }

  /** Whether all distances between different stops are known. */
  isComplete(): boolean {
    return this.#missing().next().done === true
  }

  /**
   * Fills in missing distances with the shortest way over the stops, or `unconnected`. Works in order of the
   * pairs, and later pairs use earlier fills. Returns false if there are too many stops.
   */
  fill(unconnected: number): boolean {
    if (this.#size > mostFilled) return this.isComplete()
    let row: { readonly from: number; readonly shortest: Float64Array } | undefined
    for (const [from, to] of this.#missing()) {
      if (row?.from !== from) row = { from, shortest: this.#shortestFrom(from) }
      const shortest = row.shortest[to]!
      this.set(from, to, shortest === Number.POSITIVE_INFINITY ? unconnected : shortest)
      // An edge as long as the shortest path changes no other path, but an edge between two islands does.
      if (shortest === Number.POSITIVE_INFINITY) row = undefined
    }
    return true
  }

  *#missing(): Generator<[number, number]> {
    for (let from = 0; from < this.#size; from++) {
      for (let to = from + 1; to < this.#size; to++) {
        if (this.get(from, to) === undefined) yield [from, to]
      }
    }
  }

  /** Dijkstra's algorithm without a heap, because the graphs are dense. */
  #shortestFrom(start: number): Float64Array {
    const shortest = new Float64Array(this.#size).fill(Number.POSITIVE_INFINITY)
    const open = new Set(shortest.keys())
    shortest[start] = 0
    while (open.size > 0) {
      let nearest = -1
      for (const stop of open) if (nearest === -1 || shortest[stop]! < shortest[nearest]!) nearest = stop
      if (shortest[nearest] === Number.POSITIVE_INFINITY) break
      open.delete(nearest)
      for (const stop of open) {
        const way = shortest[nearest]! + (this.get(nearest, stop) ?? Number.POSITIVE_INFINITY)
        if (way < shortest[stop]!) shortest[stop] = way
      }
    }
    return shortest
  }
}

/** The stops of a tour by position, with distances in kilometres. */
interface Airports {
  readonly names: readonly string[]
  readonly distances: Distances
}

const airportLine = /- Airports to visit: ([^\n]+)/u
const distanceLine = /([\p{L}\p{N}_]+) to ([\p{L}\p{N}_]+): (\p{Nd}+)/gu

/** Airports and distances stated anywhere in the prompt. null without a line of airports. */
function publishedAirports(text: string): Airports | null {
  const line = airportLine.exec(text)?.[1]
  if (line === undefined) return null
  const names = line.split(',').map(trimSpace)
  const distances = new Distances(names.length)
  for (const [from, to, kilometres] of statedDistances(text, names)) distances.set(from, to, kilometres)
  return { names, distances }
}

/**
 * Airports and all distances stated after the last `**Problem to Solve**`. A string is the reason for
 * failure.
 */
function strictAirports(whole: string): Airports | string {
  const text = whole.slice(Math.max(0, whole.lastIndexOf('**Problem to Solve**')))
  const line = trimSpace(airportLine.exec(text)?.[1] ?? '').replace(/\.$/, '')
  const names = line
    .split(',')
    .map(trimSpace)
    .filter((name) => name !== '')
  if (names.length < 2 || new Set(names).size < names.length)
    return 'the text names no two different airports'
  const distances = new Distances(names.length)
  for (const [from, to, kilometres] of statedDistances(text, names)) {
    if (from === to) continue
    if ((distances.get(from, to) ?? kilometres) !== kilometres)
      return 'the text states two distances for one pair'
    distances.set(from, to, kilometres)
  }
  return distances.isComplete() ? { names, distances } : 'the text does not state all distances'
}

/** Airports from a graph's nodes, distances from its link weights. null if unreadable. */
function graphAirports(value: unknown): Airports | null {
  const graph = readGraph(value)
  if (!(graph instanceof Graph)) return null
  const position = new Map([...graph.nodes.keys()].map((key, at) => [key, at]))
  const distances = new Distances(graph.size)
  const node = typeof value === 'string' ? parsedJson(value) : value
  for (const link of isObject(node) && Array.isArray(node.links) ? node.links : []) {
    const [from, to] = [link.source, link.target].map((id) => position.get(nodeKey(id) ?? ''))
    if (from !== undefined && to !== undefined && typeof link.weight === 'number') {
      distances.set(from, to, link.weight)
    }
  }
  const names = [...graph.nodes.values()].map(({ name }) => (typeof name === 'string' ? name : ''))
  return { names, distances }
}

/**
 * Pairs of airports by position with their stated distance, in order. A repeated name refers to its first
 * position.
 */
function* statedDistances(text: string, names: readonly string[]): Generator<[number, number, number]> {
  const position = firstPositions(names)
  for (const [, from = '', to = '', kilometres = ''] of text.matchAll(distanceLine)) {
    const [a, b] = [position.get(from), position.get(to)]
    if (a !== undefined && b !== undefined) yield [a, b, Number(asciiDigits(kilometres))]
  }
}

function firstPositions(names: readonly string[]): ReadonlyMap<string, number> {
  const position = new Map<string, number>()
  for (const [at, name] of names.entries()) if (!position.has(name)) position.set(name, at)
  return position
}

/** The published code's distance between two unconnected airports. */
const unconnectedKilometres = 99_999

/** Travelling salesman: a round trip over all airports. The value is its length in kilometres. */
export function checkTour(problem: Problem, text: string, faults: Faults): Finding {
  return faults.graphsUnchecked ? checkAsPublished(problem, text, faults) : checkStrictly(problem, text)
}

function checkStrictly({ problemText, graph, given }: Problem, text: string): Finding {
  if (given === 'text' && typeof problemText !== 'string')
    return badProblem('the text of the problem is not a string')
  const airports = given === 'text' ? strictAirports(String(problemText)) : graphAirports(graph)
  if (typeof airports === 'string') return badProblem(airports)
  if (!airports?.distances.isComplete()) return badProblem('the graph lacks distances')
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
  if (fromText && typeof problemText !== 'string') return raised('the text of the problem is not a string')
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
    return { status: 'budget_spent', reason: 'too many distances are missing' }
  }
  let kilometres = 0
  for (const [at, from] of route.entries()) {
    kilometres += distances?.get(from!, stops[at + 1]!) ?? Number.NaN
  }
  return Number.isFinite(kilometres) ? solution(kilometres, list) : raised('a distance is unknown')
}

import { asciiDigits } from '../digits.ts'
import { trimSpace } from '../white-space.ts'
import { Distances } from './distances.ts'
import { Graph, nodeKey } from './graph.ts'
import { isObject, parsedJson, readGraph } from './read-graph.ts'

/** The stops of a tour by position, with their distances in kilometres. */
export interface Airports {
  readonly names: readonly string[]
  readonly distances: Distances
}

const airportLine = /- Airports to visit: ([^\n]+)/u
const distanceLine = /([\p{L}\p{N}_]+) to ([\p{L}\p{N}_]+): (\p{Nd}+)/gu

/** Airports and distances wherever a prompt states them; null without an airport line. */
export function publishedAirports(text: string): Airports | null {
  const line = airportLine.exec(text)?.[1]
  if (line === undefined) return null
  const names = line.split(',').map(trimSpace)
  const distances = new Distances(names.length)
  for (const [from, to, kilometres] of statedDistances(text, names)) distances.set(from, to, kilometres)
  return { names, distances }
}

/** Airports and all their distances as stated after the last `**Problem to Solve**`; a text: what is wrong with it. */
export function strictAirports(whole: string): Airports | string {
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

/** Airports as the nodes of a graph, distances as the weights of its links; null where it is unreadable. */
export function graphAirports(value: unknown): Airports | null {
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

/** Pairs of airports by position, first of each name, with what the text states of them; in order. */
function* statedDistances(text: string, names: readonly string[]): Generator<[number, number, number]> {
  const position = firstPositions(names)
  for (const [, from = '', to = '', kilometres = ''] of text.matchAll(distanceLine)) {
    const [a, b] = [position.get(from), position.get(to)]
    if (a !== undefined && b !== undefined) yield [a, b, Number(asciiDigits(kilometres))]
  }
}

/** The first position of each name. */
export function firstPositions(names: readonly string[]): ReadonlyMap<string, number> {
  const position = new Map<string, number>()
  for (const [at, name] of names.entries()) if (!position.has(name)) position.set(name, at)
  return position
}

import { badProblem, type Faults, type Finding, invalid, noAnswer, solution } from './finding.ts'
import { Graph, nodeKey, readGraph, readStrictPair } from './graph.ts'
import { integerLists, integersOf } from './lists.ts'
import type { Problem } from './problem.ts'

/** Node colours of both graphs, by position. Nodes of equal colour are not yet distinguished. */
interface Colouring {
  readonly a: readonly number[]
  readonly b: readonly number[]
}

type Adjacency = readonly (readonly number[])[]

/**
 * Whether two graphs with self-loops are isomorphic. null if `steps` neighbour visits are not enough. Refines
 * colours, then tries each member of the smallest colour.
 */
export function areIsomorphic(a: Graph, b: Graph, steps: number): boolean | null {
  if (a.size !== b.size) return false
  const [inA, inB] = [adjacencyOf(a), adjacencyOf(b)]
  let left = steps
  const spend = (colours: readonly number[], adjacency: Adjacency): string[] =>
    adjacency.map((neighbours, node) => {
      left -= neighbours.length + 1
      const near = neighbours.map((neighbour) => colours[neighbour]!).sort((x, y) => x - y)
      return `${colours[node]}:${near.join(' ')}`
    })

  const refined = (start: Colouring): Colouring | null => {
    for (let colouring = start, count = 0; left > 0; ) {
      const number = new Map<string, number>()
      const numbered = (marks: string[]): number[] => {
        for (const mark of marks) if (!number.has(mark)) number.set(mark, number.size)
        return marks.map((mark) => number.get(mark)!)
      }
      const next = { a: numbered(spend(colouring.a, inA)), b: numbered(spend(colouring.b, inB)) }
      if (!sameCounts(next, number.size)) return null
      if (number.size === count) return next
      count = number.size
      colouring = next
    }
    return null
  }

  const search = (start: Colouring): boolean => {
    const colouring = refined(start)
    if (!colouring) return false
    const colour = smallestShared(colouring.a)
    if (colour === null) return true
    const node = colouring.a.indexOf(colour)
    return colouring.b.some(
      (other, at) =>
        other === colour && left > 0 && search({ a: apart(colouring.a, node), b: apart(colouring.b, at) }),
    )
  }

  const same = search({ a: inA.map(() => 0), b: inB.map(() => 0) })
  return !same && left <= 0 ? null : same
}

function adjacencyOf(graph: Graph): Adjacency {
  const keys = [...graph.nodes.keys()]
  const position = new Map(keys.map((key, at) => [key, at]))
  return keys.map((key) => [...graph.neighbours(key)].map((next) => position.get(next)!))
}

/** Gives one node its own colour. */
function apart(colours: readonly number[], node: number): number[] {
  return colours.map((colour, at) => (at === node ? -1 : colour))
}

function countsOf(colours: readonly number[], size: number): number[] {
  const counts = new Array<number>(size).fill(0)
  for (const colour of colours) counts[colour]!++
  return counts
}

function sameCounts({ a, b }: Colouring, size: number): boolean {
  const counts = countsOf(b, size)
  return countsOf(a, size).every((count, colour) => count === counts[colour])
}

/** The colour shared by the fewest nodes, but more than one. null if all colours are unique. */
function smallestShared(colours: readonly number[]): number | null {
  let smallest: number | null = null
  const counts = countsOf(colours, colours.length)
  for (const [colour, count] of counts.entries()) {
    if (count > 1 && (smallest === null || count < counts[smallest]!)) smallest = colour
  }
  return smallest
}

/** Neighbour visits per comparison, about a second. Molecules need thousands. */
const stepBudget = 5_000_000

/** Maximum common subgraph: atoms of both molecules with the same structure. The value is their number. */
export function checkCommonSubgraph(problem: Problem, text: string, faults: Faults): Finding {
  const graphs = faults.graphsUnchecked ? publishedPair(problem) : readStrictPair(problem.graph)
  if (typeof graphs === 'string') return badProblem(graphs)
  const lists = integerLists(text).slice(-2)
  const [inA, inB] = lists
  if (inA === undefined || inB === undefined) return noAnswer('no two lists of atoms')
  const extracted = lists.map((list) => `[${list}]`).join(', ')
  const [x, y] = [integersOf(inA), integersOf(inB)]
  if (!x || !y) {
    return faults.unreadableIsNoAnswer
      ? noAnswer('a list is unreadable')
      : invalid('a list is unreadable', extracted)
  }
  if (x.length !== y.length) return invalid('the lists differ in length', extracted)
  const [a, b] = graphs
  if (!(a instanceof Graph) || !(b instanceof Graph)) return invalid('there are not two graphs', extracted)
  const [partA, partB] = [induced(a, x), induced(b, y)]
  if (!faults.absentAtomsCount && (partA.size !== x.length || partB.size !== y.length)) {
    return invalid('an atom is repeated or does not exist', extracted)
  }
  const same = areIsomorphic(partA, partB, stepBudget)
  if (same === null)
    return { status: 'budget_spent', reason: 'the two subgraphs are too symmetric to compare in time' }
  return same ? solution(x.length, extracted) : invalid('the two subgraphs differ', extracted)
}

const induced = (graph: Graph, atoms: readonly number[]): Graph =>
  graph.induced(new Set(atoms.map((atom) => nodeKey(atom) ?? '')))

function publishedPair(problem: Problem): readonly unknown[] | string {
  const graph = readGraph(problem.graph)
  if (graph === null) return 'the graph is unreadable'
  return graph instanceof Graph || graph.length !== 2 ? [] : graph
}

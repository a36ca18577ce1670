import type { Faults } from './faults.ts'
import { badProblem, type Finding, invalid, noAnswer, solution } from './finding.ts'
import { Graph, nodeKey } from './graph.ts'
import { areIsomorphic } from './isomorphism.ts'
import { integerLists, integersOf } from './lists.ts'
import type { Problem } from './problem.ts'
import { readGraph, readSoundPair } from './read-graph.ts'

/** Looks at neighbours that one comparison may take: about a second; molecules need thousands. */
const stepBudget = 5_000_000

/** Maximum common subgraph: atoms of either molecule, of which the structures are the same. The value is their number. */
export function checkCommonSubgraph(problem: Problem, text: string, faults: Faults): Finding {
  const graphs = faults.graphsUnchecked ? publishedPair(problem) : readSoundPair(problem.graph)
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
  if (x.length !== y.length) return invalid('the lists are not equally long', extracted)
  const [a, b] = graphs
  if (!(a instanceof Graph) || !(b instanceof Graph)) return invalid('there are not two graphs', extracted)
  const [partA, partB] = [induced(a, x), induced(b, y)]
  if (!faults.absentAtomsCount && (partA.size !== x.length || partB.size !== y.length)) {
    return invalid('an atom is repeated or does not exist', extracted)
  }
  const same = areIsomorphic(partA, partB, stepBudget)
  if (same === null)
    return { status: 'budget_spent', reason: 'the two subgraphs are too much alike to be compared' }
  return same ? solution(x.length, extracted) : invalid('the two subgraphs differ', extracted)
}

const induced = (graph: Graph, atoms: readonly number[]): Graph =>
  graph.induced(new Set(atoms.map((atom) => nodeKey(atom) ?? '')))

function publishedPair(problem: Problem): readonly unknown[] | string {
  const graph = readGraph(problem.graph)
  if (graph === null) return 'the graph is unreadable'
  return graph instanceof Graph || graph.length !== 2 ? [] : graph
}

import { isDeepStrictEqual } from 'node:util'
import { badProblem, type Faults, type Finding, invalid, noAnswer, raised, solution } from './finding.ts'
import { Graph, isEmptyGraph, type NodeKey, nodeKey, readGraph, readStrictPair } from './graph.ts'
import { integerLists, integersOf } from './lists.ts'
import type { Problem } from './problem.ts'

/**
 * Graph edit distance: maps the atoms of the first molecule in order to atoms of the second. The value is the
 * number of edits.
 */
export function checkEditDistance(problem: Problem, text: string, faults: Faults): Finding {
  return faults.graphsUnchecked ? checkLoosely(problem, text, faults) : checkStrictly(problem, text)
}

function checkStrictly(problem: Problem, text: string): Finding {
  const pair = readStrictPair(problem.graph)
  if (typeof pair === 'string') return badProblem(pair)
  const [a, b] = pair
  if (!pair.every(isMolecule)) return badProblem('the atoms are not 0, 1, 2, ... with a label each')
  if (a.size > b.size) return badProblem('the first molecule is the larger one')
  const list = integerLists(text).at(-1)
  if (list === undefined) return noAnswer('no list of atoms after the thinking')
  const atoms = integersOf(list)
  const fits =
    atoms?.length === a.size && new Set(atoms).size === a.size && atoms.every((atom) => atom < b.size)
  if (!atoms || !fits) return invalid('the list does not map every atom to another one', list)
  const cost = edits(a, b, atoms)
  return cost === null ? invalid('an atom has no label', list) : solution(cost + b.size - a.size, list)
}

function checkLoosely(problem: Problem, text: string, faults: Faults): Finding {
  const graph = readGraph(problem.graph)
  if (graph === null) return badProblem('the graph is unreadable')
  const [a, b] = graph instanceof Graph ? [] : graph
  if (!isEmptyGraph(graph) && (graph instanceof Graph ? graph.size : graph.length) !== 2) {
    return raised('there are not two graphs')
  }
  const lists = integerLists(text)
  let finding = noAnswer('no list of atoms')
  for (const list of (faults.earlierListsCount ? lists : lists.slice(-1)).reverse()) {
    const atoms = integersOf(list)
    if (!atoms || !(a instanceof Graph) || !(b instanceof Graph))
      return invalid('the list is unreadable', list)
    if (!isPermutation(atoms, a.size)) {
      finding = invalid('the list is not a permutation of the atoms', list)
      continue
    }
    const cost = edits(a, b, atoms)
    return cost === null ? invalid('an atom has no label', list) : solution(cost, list)
  }
  return finding
}

/** Counts labels that differ, extra edges and missing edges. null if a label is missing. */
function edits(a: Graph, b: Graph, atoms: readonly number[]): number | null {
  const renamed = new Map(atoms.map((atom, at) => [atomKey(at), atomKey(atom)]))
  const mapped = new Graph()
  for (const [key, attributes] of a.nodes) mapped.addNode(renamed.get(key) ?? key, attributes)
  for (const [from, to] of a.edges()) mapped.addEdge(renamed.get(from) ?? from, renamed.get(to) ?? to)
  let cost = 0
  for (const atom of atoms) {
    const [from, to] = [mapped.nodes.get(atomKey(atom)), b.nodes.get(atomKey(atom))]
    if (from?.label === undefined || to?.label === undefined) return null
    if (!isDeepStrictEqual(from.label, to.label)) cost++
  }
  return cost + edgesMissing(mapped, b) + edgesMissing(b, mapped)
}

function edgesMissing(from: Graph, to: Graph): number {
  let missing = 0
  for (const [a, b] of from.edges()) if (!to.adjacent(a, b)) missing++
  return missing
}

function isPermutation(atoms: readonly number[], size: number): boolean {
  return atoms.length === size && new Set(atoms).size === size && atoms.every((atom) => atom < size)
}

function isMolecule(graph: Graph): boolean {
  for (let atom = 0; atom < graph.size; atom++) {
    if (graph.nodes.get(atomKey(atom))?.label === undefined) return false
  }
  return true
}

const atomKey = (atom: number): NodeKey => nodeKey(atom) ?? ''

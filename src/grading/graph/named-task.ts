import type { Faults } from './faults.ts'
import { badProblem, type Finding, invalid, noAnswer, raised, solution } from './finding.ts'
import { Graph, type NodeKey } from './graph.ts'
import { innermostLists, lineLists, piecesOf } from './lists.ts'
import { type NameIndex, nodesNamed, publishedNames, strictNames } from './names.ts'
import type { Ends, Problem } from './problem.ts'
import { isEmptyGraph, readGraph, readSoundGraph } from './read-graph.ts'

/** The value of an answer, or why it is none; `raised`: the original's check throws, for the same reason. */
export type Judgement = number | string | { readonly raised: string }

/** A task whose answer is a list of node names. */
export interface NamedTask {
  /** Reads the two nodes that the task is about, by name or id; a text: why it cannot. */
  readonly ends?: (problem: Problem, names: NameIndex, faults: Faults) => Ends | string
  /** An unknown name spoils the answer even where unknown names are passed over. */
  readonly strict?: boolean
  /** Earlier lists are tried where the grader tries them at all. */
  readonly retries?: boolean
  judge(graph: Graph, nodes: readonly NodeKey[], ends: Ends, faults: Faults): Judgement
}

const nowhere: Ends = [undefined, undefined]

/** Grades a list of names. `text` is the part of the response that is searched. */
export function checkNamed(task: NamedTask, problem: Problem, text: string, faults: Faults): Finding {
  return faults.graphsUnchecked
    ? checkAsPublished(task, problem, text, faults)
    : checkSoundly(task, problem, text, faults)
}

function checkSoundly(task: NamedTask, problem: Problem, text: string, faults: Faults): Finding {
  const graph = readSoundGraph(problem.graph)
  if (typeof graph === 'string') return badProblem(graph)
  const names = strictNames(graph)
  if (!names) return badProblem('the names of the nodes are not all different texts')
  const ends = task.ends?.(problem, names, faults) ?? nowhere
  if (typeof ends === 'string') return badProblem(ends)
  const list = innermostLists(text).at(-1)
  if (list === undefined) return noAnswer('no list after the thinking')
  const nodes = nodesNamed(list, names, graph.size + 1)
  if (!nodes) return invalid('a name that is not in the graph', list)
  if (new Set(nodes).size < nodes.length) return invalid('a name is repeated', list)
  return judged(task, graph, nodes, ends, faults, list)
}

function checkAsPublished(task: NamedTask, problem: Problem, text: string, faults: Faults): Finding {
  const graph = readGraph(problem.graph)
  if (graph === null) return badProblem('the graph is unreadable')
  if (isEmptyGraph(graph)) return noAnswer('the graph is empty')
  const lists = lineLists(text)
  const last = lists.at(-1)
  if (last === undefined) return noAnswer('no list')
  if (!(graph instanceof Graph)) return invalid('a list of graphs has no names', last)
  const names = publishedNames(graph, faults)
  let ends: Ends | string | undefined
  const check = (list: string): Finding => {
    const found = piecesOf(list).map((name) => names.find(name))
    const nodes = found.filter((node) => node !== undefined)
    if (task.strict && !faults.emptyAnswersCount && nodes.length < found.length) {
      return invalid('a name that is not in the graph', list)
    }
    if (nodes.length === 0 && !faults.emptyAnswersCount) return invalid('no name of the graph', list)
    ends ??= task.ends?.(problem, names, faults) ?? nowhere
    return typeof ends === 'string' ? raised(ends) : judged(task, graph, nodes, ends, faults, list)
  }
  const finding = check(last)
  if (!faults.earlierListsCount || !task.retries) return finding
  for (let at = lists.length - 2, tried = finding; ; at--) {
    const list = lists[at]
    if (tried.status === 'solution' || list === undefined) return tried
    tried = check(list)
  }
}

function judged(
  task: NamedTask,
  graph: Graph,
  nodes: readonly NodeKey[],
  ends: Ends,
  faults: Faults,
  list: string,
): Finding {
  const value = task.judge(graph, nodes, ends, faults)
  if (typeof value === 'number') return solution(value, list)
  return typeof value === 'string' ? invalid(value, list) : raised(value.raised)
}

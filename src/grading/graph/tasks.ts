import { withoutComments } from '../answer/shown.ts'
import { afterThink } from '../tags.ts'
import { checkCommonSubgraph } from './common-subgraph.ts'
import { checkEditDistance } from './edit-distance.ts'
import { badProblem, type Faults, type Finding, invalid, noAnswer, raised, solution } from './finding.ts'
import { Graph, isEmptyGraph, type NodeKey, readGraph, readStrictGraph } from './graph.ts'
import { innermostLists, isCommittedTo, lineLists, piecesOf } from './lists.ts'
import {
  type Ends,
  type NameIndex,
  nodesNamed,
  type Problem,
  publishedNames,
  readEnds,
  strictNames,
} from './problem.ts'
import { checkTour } from './tour.ts'

/** The number of edges on a shortest path, or undefined if there is none. */
function hopsBetween(graph: Graph, from: NodeKey, to: NodeKey): number | undefined {
  const hops = new Map<NodeKey, number>([[from, 0]])
  for (const [node, distance] of hops) {
    if (node === to) return distance
    for (const next of graph.neighbours(node)) if (!hops.has(next)) hops.set(next, distance + 1)
  }
  return undefined
}

const known = new WeakMap<Graph, ReadonlyMap<NodeKey, number>>()

/** The component number of each node, cached per graph. The graph must not change afterwards. */
function componentsOf(graph: Graph): ReadonlyMap<NodeKey, number> {
  const components = known.get(graph) ?? foundComponents(graph)
  known.set(graph, components)
  return components
}

function foundComponents(graph: Graph): ReadonlyMap<NodeKey, number> {
  const component = new Map<NodeKey, number>()
  let count = 0
  for (const start of graph.nodes.keys()) {
    if (component.has(start)) continue
    const reached = new Set([start])
    for (const node of reached) {
      component.set(node, count)
      for (const next of graph.neighbours(node)) reached.add(next)
    }
    count++
  }
  return component
}

/** Whether each node is joined to the next. */
function isWalk(graph: Graph, nodes: readonly NodeKey[]): boolean {
  return nodes.every((node, at) => at === 0 || graph.adjacent(nodes[at - 1]!, node))
}

/** The value of an answer, or why it is wrong. `raised`: the published check throws for this reason. */
type Judgement = number | string | { readonly raised: string }

/** A task whose answer is a list of node names. */
interface NamedTask {
  /** Reads the two nodes that the task is about, by name or id. A string is the reason for failure. */
  readonly ends?: (problem: Problem, names: NameIndex, faults: Faults) => Ends | string
  /** An unknown name invalidates the answer even if unknown names are skipped. */
  readonly strict?: boolean
  /** Earlier lists are tried if the grader tries them at all. */
  readonly retries?: boolean
  judge(graph: Graph, nodes: readonly NodeKey[], ends: Ends, faults: Faults): Judgement
}

const nowhere: Ends = [undefined, undefined]

/** Grades a list of names. `text` is the part of the response to search. */
function checkNamed(task: NamedTask, problem: Problem, text: string, faults: Faults): Finding {
  return faults.graphsUnchecked
    ? checkAsPublished(task, problem, text, faults)
    : checkStrictly(task, problem, text, faults)
}

function checkStrictly(task: NamedTask, problem: Problem, text: string, faults: Faults): Finding {
  const graph = readStrictGraph(problem.graph)
  if (typeof graph === 'string') return badProblem(graph)
  const names = strictNames(graph)
  if (!names) return badProblem('the names of the nodes are not distinct texts')
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
    if (nodes.length === 0 && !faults.emptyAnswersCount) return invalid('no name in the graph', list)
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

/** Maximum clique: every two nodes are joined. The value is the number of nodes. */
const clique: NamedTask = {
  judge(graph, nodes, _ends, { selfLoopsCount }) {
    const part = graph.induced(nodes)
    let edges = 0
    for (const [a, b] of part.edges()) if (a !== b || selfLoopsCount) edges++
    return edges >= (nodes.length * (nodes.length - 1)) / 2 ? nodes.length : 'two of the nodes are not joined'
  },
}

/** Connected components: one node of each. The value is the number of nodes. */
const connected: NamedTask = {
  retries: true,
  judge(graph, nodes) {
    const component = componentsOf(graph)
    const met = new Set(nodes.map((node) => component.get(node)))
    return met.size === nodes.length ? nodes.length : 'two of the nodes are in one component'
  },
}

/** Diameter: a path that is a shortest path between its ends. The value is the number of edges. */
const diameter: NamedTask = {
  judge(graph, nodes) {
    const [first] = nodes
    const last = nodes.at(-1)
    if (first === undefined || last === undefined) return 'no node'
    if (!isWalk(graph, nodes)) return 'two neighbours of the list are not joined'
    return hopsBetween(graph, first, last) === nodes.length - 1
      ? nodes.length - 1
      : 'there is a shorter path between the ends'
  },
}

const shortestPathWording = { opening: 'Please determine the shortest path between', fullStop: false }

/** Shortest distance: a path between the two ends. The value is the number of edges. */
const distance: NamedTask = {
  retries: true,
  ends: (problem, names, faults) => readEnds(shortestPathWording, problem, names, faults),
  judge(graph, nodes, [from, to]) {
    if (nodes.length === 0) return 'no node'
    if (nodes[0] !== from || nodes.at(-1) !== to) return 'the path does not join the two ends'
    return isWalk(graph, nodes) ? nodes.length - 1 : 'two neighbours of the list are not joined'
  },
}

/**
 * Maximum independent set: no two nodes are joined, and none has a self-loop. The value is the number of
 * nodes.
 */
const independentSet: NamedTask = {
  judge(graph, nodes) {
    for (const _edge of graph.induced(nodes).edges()) return 'two of the nodes are joined'
    return nodes.length
  },
}

const commonNeighborWording = { opening: 'Please identify the common neighbors of', fullStop: true }

/** Common neighbours of two nodes. The value is the number of distinct ones. */
const neighbor: NamedTask = {
  retries: true,
  strict: true,
  ends: (problem, names, faults) => readEnds(commonNeighborWording, problem, names, faults),
  judge(graph, nodes, ends) {
    for (const node of nodes) {
      if (ends.includes(node)) return 'one of the two nodes themselves'
      for (const end of ends) {
        if (end === undefined) return { raised: 'one of the two nodes is not found' }
        if (!graph.adjacent(end, node)) return 'a node that is not a neighbour of both'
      }
    }
    return new Set(nodes).size
  },
}

/** Minimum vertex cover: every edge ends in one of the nodes. The value is the number of nodes. */
const vertexCover: NamedTask = {
  strict: true,
  judge(graph, nodes) {
    const cover = new Set(nodes)
    for (const [a, b] of graph.edges()) {
      if (!cover.has(a) && !cover.has(b)) return 'an edge is not covered'
    }
    return nodes.length
  },
}

/** A kind of graph problem. */
export interface GraphTask {
  readonly better: 'smaller' | 'larger'
  /** Whether a payment that squares the share of the best value does so for this task. */
  readonly squared?: boolean
  /** Some labels are approximate, so a better value is not an error. */
  readonly approximate?: boolean
  /** How many lists are one answer. Default 1. */
  readonly lists?: number
  check(problem: Problem, text: string, faults: Faults): Finding
}

const named = (task: NamedTask, better: GraphTask['better'], approximate = false): GraphTask => ({
  better,
  approximate,
  check: (problem, text, faults) => checkNamed(task, problem, text, faults),
})

/** Tasks by their name in data sets. */
export const graphTasks: ReadonlyMap<string, GraphTask> = new Map([
  ['Connected', named(connected, 'larger')],
  ['Diameter', named(diameter, 'larger')],
  ['Distance', named(distance, 'smaller')],
  ['GED', { better: 'smaller', approximate: true, check: checkEditDistance }],
  ['MCP', named(clique, 'larger', true)],
  ['MCS', { better: 'larger', approximate: true, lists: 2, check: checkCommonSubgraph }],
  ['MIS', named(independentSet, 'larger')],
  ['MVC', named(vertexCover, 'smaller', true)],
  ['Neighbor', named(neighbor, 'larger')],
  ['TSP', { better: 'smaller', squared: true, approximate: true, check: checkTour }],
])

/** The task that starts a data source such as `MCP_easy_binary`. Throws if there is none. */
export function taskNamed(dataSource: string): GraphTask {
  const task = graphTasks.get(dataSource.split('_', 1)[0] ?? '')
  if (!task) throw new Error(`data_source must begin with one of ${[...graphTasks.keys()].join(', ')}`)
  return task
}

/**
 * Grades an answer to one problem. Searches the thinking, and overlooks what the text says of its last list, only if
 * the grader has that fault.
 */
export function checkGraphAnswer(
  task: GraphTask,
  problem: Problem,
  response: string,
  faults: Faults,
): Finding {
  if (faults.thinkingIsSearched) return task.check(problem, response, faults)
  const text = withoutComments(afterThink(response) ?? '')
  const finding = task.check(problem, text, faults)
  return finding.status !== 'solution' || isCommittedTo(text, task.lists ?? 1)
    ? finding
    : invalid('the text takes back the list, or offers another', finding.extracted)
}

import { isWalk } from './hops.ts'
import type { NamedTask } from './named-task.ts'
import { readEnds } from './problem.ts'

const wording = { opening: 'Please determine the shortest path between', fullStop: false }

/** Shortest distance: a path between the two ends. The value is its number of edges. */
export const distance: NamedTask = {
  retries: true,
  ends: (problem, names, faults) => readEnds(wording, problem, names, faults),
  judge(graph, nodes, [from, to]) {
    if (nodes.length === 0) return 'no node'
    if (nodes[0] !== from || nodes.at(-1) !== to) return 'the path does not join the two ends'
    return isWalk(graph, nodes) ? nodes.length - 1 : 'two neighbours of the list are not joined'
  },
}

import { hopsBetween, isWalk } from './hops.ts'
import type { NamedTask } from './named-task.ts'

/** Diameter: a path that is a shortest one between its ends. The value is its number of edges. */
export const diameter: NamedTask = {
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

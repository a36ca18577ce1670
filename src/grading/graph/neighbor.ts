import type { NamedTask } from './named-task.ts'
import { readEnds } from './problem.ts'

const wording = { opening: 'Please identify the common neighbors of', fullStop: true }

/** Common neighbours of two nodes. The value is the number of different ones. */
export const neighbor: NamedTask = {
  retries: true,
  strict: true,
  ends: (problem, names, faults) => readEnds(wording, problem, names, faults),
  judge(graph, nodes, ends) {
    for (const node of nodes) {
      if (ends.includes(node)) return 'one of the two nodes themselves'
      for (const end of ends) {
        if (end === undefined) return { raised: 'one of the two nodes is not found' }
        if (!graph.adjacent(end, node)) return 'a node that is no neighbour of both'
      }
    }
    return new Set(nodes).size
  },
}

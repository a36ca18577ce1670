import type { NamedTask } from './named-task.ts'

/** Maximum independent set: no two nodes are joined, none to itself. The value is their number. */
export const independentSet: NamedTask = {
  judge(graph, nodes) {
    for (const _edge of graph.induced(nodes).edges()) return 'two of the nodes are joined'
    return nodes.length
  },
}

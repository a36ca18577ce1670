import type { NamedTask } from './named-task.ts'

/** Maximum clique: every two nodes are joined. The value is their number. */
export const clique: NamedTask = {
  judge(graph, nodes, _ends, { selfLoopsCount }) {
    const part = graph.induced(nodes)
    let edges = 0
    for (const [a, b] of part.edges()) if (a !== b || selfLoopsCount) edges++
    return edges >= (nodes.length * (nodes.length - 1)) / 2 ? nodes.length : 'two of the nodes are not joined'
  },
}

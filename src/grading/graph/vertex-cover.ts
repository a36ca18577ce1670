import type { NamedTask } from './named-task.ts'

/** Minimum vertex cover: every edge has an end among the nodes. The value is their number. */
export const vertexCover: NamedTask = {
  strict: true,
  judge(graph, nodes) {
    const cover = new Set(nodes)
    for (const [a, b] of graph.edges()) {
      if (!cover.has(a) && !cover.has(b)) return 'an edge is not covered'
    }
    return nodes.length
  },
}

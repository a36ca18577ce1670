import type { Graph, NodeKey } from './graph.ts'

/** Edges on a shortest path; undefined where there is none. */
export function hopsBetween(graph: Graph, from: NodeKey, to: NodeKey): number | undefined {
  const hops = new Map<NodeKey, number>([[from, 0]])
  for (const [node, distance] of hops) {
    if (node === to) return distance
    for (const next of graph.neighbours(node)) if (!hops.has(next)) hops.set(next, distance + 1)
  }
  return undefined
}

const known = new WeakMap<Graph, ReadonlyMap<NodeKey, number>>()

/** The number of each node's component, found once a graph, which must not change after; numbers follow the nodes. */
export function componentsOf(graph: Graph): ReadonlyMap<NodeKey, number> {
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

/** Whether every node is joined to the next one. */
export function isWalk(graph: Graph, nodes: readonly NodeKey[]): boolean {
  return nodes.every((node, at) => at === 0 || graph.adjacent(nodes[at - 1]!, node))
}

import { componentsOf } from './hops.ts'
import type { NamedTask } from './named-task.ts'

/** Connected components: one node of each. The value is their number. */
export const connected: NamedTask = {
  retries: true,
  judge(graph, nodes) {
    const component = componentsOf(graph)
    const met = new Set(nodes.map((node) => component.get(node)))
    return met.size === nodes.length ? nodes.length : 'two of the nodes are in one component'
  },
}

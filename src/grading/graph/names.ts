import { trimSpace } from '../white-space.ts'
import type { Faults } from './faults.ts'
import type { Graph, NodeKey } from './graph.ts'

/** Nodes by name. */
export interface NameIndex {
  /** The first node of that name, or undefined. */
  find(name: string): NodeKey | undefined
  /** Most commas in one name. */
  readonly commas: number
}

/** Names as the original looks them up: a node without one is named '', one that is no text hides all after it. */
export function publishedNames(graph: Graph, { namesUnstripped }: Faults): NameIndex {
  const nodes = new Map<string, NodeKey>()
  for (const [key, { name = namesUnstripped ? null : '' }] of graph.nodes) {
    if (typeof name !== 'string') {
      if (namesUnstripped) continue
      break
    }
    const known = namesUnstripped ? name : trimSpace(name)
    if (!nodes.has(known)) nodes.set(known, key)
  }
  return { find: (name) => nodes.get(name), commas: 0 }
}

/** Names that are texts, not blank and all different; null where they are not. */
export function strictNames(graph: Graph): NameIndex | null {
  const nodes = new Map<string, NodeKey>()
  let commas = 0
  for (const [key, { name }] of graph.nodes) {
    const stripped = typeof name === 'string' ? trimSpace(name) : ''
    if (stripped === '' || nodes.has(stripped)) return null
    nodes.set(stripped, key)
    commas = Math.max(commas, stripped.split(',').length - 1)
  }
  return { find: (name) => nodes.get(name), commas }
}

/**
 * The nodes that a list names, a name with commas read as one where it can be; null at the first unknown name.
 * Stops after `limit` nodes. Linear in the list for names of few commas.
 */
export function nodesNamed(list: string, names: NameIndex, limit: number): NodeKey[] | null {
  const pieces = list.split(',')
  const nodes: NodeKey[] = []
  for (let at = 0; at < pieces.length && nodes.length < limit; ) {
    let length = Math.min(names.commas + 1, pieces.length - at)
    let node: NodeKey | undefined
    for (; length > 0; length--) {
      node = names.find(trimSpace(pieces.slice(at, at + length).join(',')))
      if (node !== undefined) break
    }
    if (node === undefined) return null
    nodes.push(node)
    at += length
  }
  return nodes
}

import { getHeapSnapshot, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** The parts of a heap snapshot that are read here. */
interface Snapshot {
  readonly snapshot: {
    readonly meta: {
      readonly node_fields: readonly string[]
      readonly node_types: readonly [readonly string[], ...unknown[]]
      readonly edge_fields: readonly string[]
      readonly edge_types: readonly [readonly string[], ...unknown[]]
    }
  }
  readonly nodes: readonly number[]
  readonly edges: readonly number[]
  readonly strings: readonly string[]
}

/** Collects garbage, also where the process was started without --expose-gc. */
export function collectGarbage(): void {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
}

/**
 * How many texts of this process's heap match, by the first group of the pattern: those that are reached without weak references, and
 * not as names of V8's own table. Texts beyond their first 1,024 characters are not searched.
 */
export async function heldTexts(pattern: RegExp): Promise<ReadonlyMap<string, number>> {
  const chunks: Buffer[] = []
  for await (const chunk of getHeapSnapshot()) chunks.push(Buffer.from(chunk))
  const { nodes, edges, strings, snapshot } = JSON.parse(Buffer.concat(chunks).toString()) as Snapshot
  const { node_fields, node_types, edge_fields, edge_types } = snapshot.meta
  const [nodeSize, edgeSize] = [node_fields.length, edge_fields.length]
  const count = nodes.length / nodeSize
  const of = (node: number, field: string) => nodes[node * nodeSize + node_fields.indexOf(field)] as number
  const firstEdges = new Uint32Array(count + 1)
  for (let node = 0; node < count; node++)
    firstEdges[node + 1] = (firstEdges[node] as number) + of(node, 'edge_count')
  const weak = edge_types[0].indexOf('weak')
  const texts = ['string', 'concatenated string', 'sliced string'].map((type) => node_types[0].indexOf(type))
  const isReached = new Uint8Array(count)
  const reached = [0]
  const found = new Map<string, number>()
  for (let next = 0; next < reached.length; next++) {
    const node = reached[next] as number
    const name = strings[of(node, 'name')] as string
    if (name === '(Internalized strings)') continue
    const match = texts.includes(of(node, 'type')) ? pattern.exec(name.slice(0, 1024)) : null
    if (match) found.set(match[1] ?? '', (found.get(match[1] ?? '') ?? 0) + 1)
    for (let edge = firstEdges[node] as number; edge < (firstEdges[node + 1] as number); edge++) {
      const at = edge * edgeSize
      const to = (edges[at + 2] as number) / nodeSize
      if (edges[at] === weak || isReached[to]) continue
      isReached[to] = 1
      reached.push(to)
    }
  }
  return found
}

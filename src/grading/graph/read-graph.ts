import { Graph, type NodeAttributes, type NodeKey, nodeKey } from './graph.ts'

/** A graph, a list of them, or null: unreadable. */
export type GraphValue = Graph | readonly GraphValue[] | null

type Fields = Readonly<Record<string, unknown>>

/** Reads node-link JSON, or text that holds it, as networkx does: undeclared endpoints become nodes. */
export function readGraph(value: unknown): GraphValue {
  const parsed = typeof value === 'string' ? parsedJson(value) : value
  if (Array.isArray(parsed)) return parsed.map(readGraph)
  return isObject(parsed) ? publishedGraph(parsed) : null
}

/** Reads one graph whose every link joins declared nodes; a text is the reason why there is none. */
export function readSoundGraph(value: unknown): Graph | string {
  const parsed = typeof value === 'string' ? parsedJson(value) : value
  if (!isObject(parsed)) return 'the graph is no object'
  const { nodes, links = parsed.edges } = parsed
  if (!Array.isArray(nodes) || nodes.length === 0) return 'the graph has no nodes'
  if (!Array.isArray(links)) return 'the graph has no links'
  const graph = new Graph()
  for (const node of nodes.map(fieldsOf)) {
    const key = strictKey(node.id)
    if (key === null || graph.nodes.has(key)) return 'a node has no id of its own'
    graph.addNode(key, attributesOf(node))
  }
  for (const { source, target } of links.map(fieldsOf)) {
    const [a, b] = [strictKey(source), strictKey(target)]
    if (a === null || b === null || !graph.nodes.has(a) || !graph.nodes.has(b)) {
      return 'a link leads to an undeclared node'
    }
    graph.addEdge(a, b)
  }
  return graph
}

/** Two sound graphs, or the reason why there are not two. */
export function readSoundPair(value: unknown): readonly [Graph, Graph] | string {
  const parsed = typeof value === 'string' ? parsedJson(value) : value
  if (!Array.isArray(parsed) || parsed.length !== 2) return 'there are not two graphs'
  const [a, b] = parsed.map(readSoundGraph) as [Graph | string, Graph | string]
  if (typeof a === 'string') return a
  return typeof b === 'string' ? b : [a, b]
}

/** Whether Python would hold it for false: no graph, an empty list, a graph without nodes. */
export function isEmptyGraph(value: GraphValue): boolean {
  return value === null || (value instanceof Graph ? value.size === 0 : value.length === 0)
}

function publishedGraph(value: Fields): Graph | null {
  const nodes = entries(value.nodes)
  const links = entries(value.links)
  if (!nodes || !links) return null
  const graph = new Graph()
  for (const node of nodes.map(fieldsOf)) {
    const key = nodeKey(node.id)
    if (key === null) return null
    graph.addNode(key, attributesOf(node))
  }
  for (const { source, target } of links.map(fieldsOf)) {
    const [a, b] = [nodeKey(source), nodeKey(target)]
    if (a === null || b === null) return null
    graph.addEdge(a, b)
  }
  return graph
}

function entries(value: unknown): readonly unknown[] | null {
  if (value === undefined || value === '') return []
  if (isObject(value) && Object.keys(value).length === 0) return []
  return Array.isArray(value) ? value : null
}

function attributesOf(node: Fields): NodeAttributes {
  const attributes: NodeAttributes = {}
  if (Object.hasOwn(node, 'name')) attributes.name = node.name
  if (Object.hasOwn(node, 'label')) attributes.label = node.label
  return attributes
}

const strictKey = (id: unknown): NodeKey | null => (typeof id === 'boolean' ? null : nodeKey(id))

const fieldsOf = (value: unknown): Fields => (isObject(value) ? value : {})

/** Whether it is a JSON object. */
export function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** JSON, or null where the text is none. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

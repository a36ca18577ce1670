import { trimSpace, whiteSpace } from '../characters.ts'
import type { Faults } from './finding.ts'
import { type Graph, type NodeKey, nodeKey } from './graph.ts'

/** Finds nodes by name. */
export interface NameIndex {
  /** The first node with this name, or undefined. */
  find(name: string): NodeKey | undefined
  /** The largest number of commas in one name. */
  readonly commas: number
}

/**
 * Names as the published code looks them up: a node without a name is '', and a name that is not text hides
 * all later nodes.
 */
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

/** Names that are distinct, non-blank texts. null if any name is not. */
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
 * The nodes that a list names, or null at the first unknown name. A name with commas is read as one if
 * possible. Stops after `limit` nodes. Linear if names have few commas.
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

/** A row's description of its problem. Any field may be missing or have the wrong type. */
export interface Problem {
  readonly graph: unknown
  /** The wording of the prompt: names of the ends, airports and distances. */
  readonly problemText: unknown
  /** Whether the text or the graph states the two ends and the distances. */
  readonly given: 'text' | 'graph'
  /** Ids of the two ends, if the text does not state them. */
  readonly ends?: unknown
}

/** The two end nodes of a task, or undefined where not found. */
export type Ends = readonly [NodeKey | undefined, NodeKey | undefined]

/** How a task's prompt introduces its two ends. */
interface EndsWording {
  /** The text before the first end. */
  readonly opening: string
  /** Whether the published pattern requires a full stop instead of any character. */
  readonly fullStop: boolean
}

const closing = 'in this network'

/** Reads the ends from the row's ids, or else from its text. A string is the reason for failure. */
export function readEnds(
  wording: EndsWording,
  problem: Problem,
  names: NameIndex,
  faults: Faults,
): Ends | string {
  if (problem.given === 'graph') {
    if (!Array.isArray(problem.ends) || problem.ends.length !== 2) return 'the row does not name two ends'
    const [a, b] = problem.ends.map(nodeKey)
    return [a ?? undefined, b ?? undefined]
  }
  const { problemText = '' } = problem
  if (typeof problemText !== 'string') return 'the text of the problem is not a string'
  return faults.graphsUnchecked
    ? firstEnds(wording, problemText, names)
    : onlyEnds(wording, problemText, names)
}

/** The first matching sentence, split at its first ` and `, even inside a name. */
function firstEnds({ opening, fullStop }: EndsWording, text: string, names: NameIndex): Ends {
  const s = `[${whiteSpace}]+`
  const any = '([^\\n]*?)'
  const form = new RegExp(
    `${opening}${s}${any}${s}and${s}${any}${s}${closing}${fullStop ? '\\.' : '[^\\n]'}`,
    'u',
  )
  const match = form.exec(text)
  if (!match) return [undefined, undefined]
  return [names.find(trimSpace(match[1] ?? '')), names.find(trimSpace(match[2] ?? ''))]
}

/** The last matching sentence, split at the only `and` with a known name on both sides. */
function onlyEnds({ opening }: EndsWording, text: string, names: NameIndex): Ends | string {
  const start = text.lastIndexOf(opening)
  const end = start === -1 ? -1 : text.indexOf(closing, start)
  if (end === -1) return 'the text of the problem does not name the two ends'
  const between = text.slice(start + opening.length, end)
  const found: [NodeKey, NodeKey][] = []
  for (const { index } of between.matchAll(new RegExp(`(?<=[${whiteSpace}])and(?=[${whiteSpace}])`, 'g'))) {
    const a = names.find(trimSpace(between.slice(0, index)))
    const b = names.find(trimSpace(between.slice(index + 3)))
    if (a !== undefined && b !== undefined) found.push([a, b])
  }
  const [ends] = found
  if (!ends || found.length > 1 || ends[0] === ends[1])
    return 'the ends of the problem are not two nodes of the graph'
  return ends
}

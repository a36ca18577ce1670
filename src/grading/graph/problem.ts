import { trimSpace, whiteSpace } from '../white-space.ts'
import type { Faults } from './faults.ts'
import { type NodeKey, nodeKey } from './graph.ts'
import type { NameIndex } from './names.ts'

/** What a row says of its problem; everything may be missing or of the wrong type. */
export interface Problem {
  readonly graph: unknown
  /** The prompt's wording: names of the ends, airports and distances. */
  readonly problemText: unknown
  /** Whether the wording or the graph states the two ends and the distances. */
  readonly given: 'text' | 'graph'
  /** Ids of the two ends, where the text does not give them. */
  readonly ends?: unknown
}

/** The two nodes between which a task is set; undefined where they are not found. */
export type Ends = readonly [NodeKey | undefined, NodeKey | undefined]

/** How a task's prompt introduces its two ends. */
export interface EndsWording {
  /** Up to the first end. */
  readonly opening: string
  /** Whether the original asks for the full stop itself, not for any character. */
  readonly fullStop: boolean
}

const closing = 'in this network'

/** Reads the ends from the row's ids, else from its text; a text: why they cannot be read. */
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
  if (typeof problemText !== 'string') return 'the text of the problem is no text'
  return faults.graphsUnchecked
    ? firstEnds(wording, problemText, names)
    : onlyEnds(wording, problemText, names)
}

/** The first sentence of the form; the first ` and ` divides it, be it part of a name. */
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

/** The last sentence of the form, divided at the one `and` that has a name on either side. */
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

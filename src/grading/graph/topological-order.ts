import { asciiDigits } from '../digits.ts'
import { innermostLists } from './lists.ts'

/** A directed edge between numbered nodes. */
export type Arc = readonly [from: number, to: number]

/** All `(1->2)` of a prompt. */
export function arcsOf(prompt: string): Arc[] {
  return Array.from(prompt.matchAll(/\((\p{Nd}+)->(\p{Nd}+)\)/gu), ([, from = '', to = '']) => [
    Number(asciiDigits(from)),
    Number(asciiDigits(to)),
  ])
}

/** The nodes of a prompt: those of its arcs, and all from a to b where it says `numbered from a to b`. */
export function nodesOf(prompt: string, arcs: readonly Arc[]): Set<number> {
  const nodes = new Set(arcs.flat())
  const [, first, last] = /numbered from (\d{1,6}) to (\d{1,6})/.exec(prompt) ?? []
  if (first !== undefined) for (let node = Number(first); node <= Number(last); node++) nodes.add(node)
  return nodes
}

/** Whether the entries are these nodes and every arc goes forward, from the last place of its tail to that of its head. */
export function isForward(
  order: readonly number[],
  nodes: ReadonlySet<number>,
  arcs: readonly Arc[],
): boolean {
  const place = new Map(order.map((node, at) => [node, at]))
  if (place.size !== nodes.size || !order.every((node) => nodes.has(node))) return false
  return arcs.every(([from, to]) => place.get(from)! < place.get(to)!)
}

/** The numbers of the only list `[1, 2, ...]`, or of a text that is a list or a chain `1 -> 2 -> ...`; null: none. */
export function listedNodes(text: string): number[] | null {
  const [list = text, ...more] = text.includes('[') ? innermostLists(text) : []
  const bare = list.trim().replace(/^\(|[).,]$/g, '')
  if (more.length > 0 || !/^\d{1,15}(?:\s*(?:,|->|→)\s*\d{1,15})*$/.test(bare)) return null
  return bare.split(/,|->|→/).map(Number)
}

const integer = /^[+-]?(?:[1-9][0-9]*(?:_[0-9]+)*|0+)$/

/** A list, tuple or set of integers as Python's `literal_eval` reads it (a set in rising order); null: none. */
export function literalIntegers(text: string): number[] | null {
  const match = /^\s*(?:\[([^[\](){}]*)\]|\(([^[\](){}]*)\)|\{([^[\](){}]*)\}|([^[\](){}]*))\s*$/.exec(text)
  if (!match) return null
  const [, list, bracketed, set, bare] = match
  const items = (list ?? bracketed ?? set ?? bare ?? '').split(',').map((item) => item.trim())
  if (items.length > 1 || list !== undefined) if (items.at(-1) === '') items.pop()
  const isTuple = (bracketed ?? bare) !== undefined
  if (isTuple && !(bracketed ?? bare ?? '').includes(',') && items.join('') !== '') return null
  if ((set !== undefined || bare !== undefined) && items.join('') === '') return null
  if (!items.every((item) => integer.test(item))) return null
  const numbers = items.map((item) => Number(item.replaceAll('_', '')))
  return set === undefined ? numbers : [...new Set(numbers)].sort((a, b) => a - b)
}

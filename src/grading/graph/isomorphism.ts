import type { Graph } from './graph.ts'

/** Colours of the nodes of both graphs, by position; equal colours are not told apart so far. */
interface Colouring {
  readonly a: readonly number[]
  readonly b: readonly number[]
}

type Adjacency = readonly (readonly number[])[]

/**
 * Whether two graphs have the same structure, self-loops included; null when `steps` looks at neighbours did not do.
 * Refines colours, then tries the members of the smallest colour in turn.
 */
export function areIsomorphic(a: Graph, b: Graph, steps: number): boolean | null {
  if (a.size !== b.size) return false
  const [inA, inB] = [adjacencyOf(a), adjacencyOf(b)]
  let left = steps
  const spend = (colours: readonly number[], adjacency: Adjacency): string[] =>
    adjacency.map((neighbours, node) => {
      left -= neighbours.length + 1
      const near = neighbours.map((neighbour) => colours[neighbour]!).sort((x, y) => x - y)
      return `${colours[node]}:${near.join(' ')}`
    })

  const refined = (start: Colouring): Colouring | null => {
    for (let colouring = start, count = 0; left > 0; ) {
      const number = new Map<string, number>()
      const numbered = (marks: string[]): number[] => {
        for (const mark of marks) if (!number.has(mark)) number.set(mark, number.size)
        return marks.map((mark) => number.get(mark)!)
      }
      const next = { a: numbered(spend(colouring.a, inA)), b: numbered(spend(colouring.b, inB)) }
      if (!sameCounts(next, number.size)) return null
      if (number.size === count) return next
      count = number.size
      colouring = next
    }
    return null
  }

  const search = (start: Colouring): boolean => {
    const colouring = refined(start)
    if (!colouring) return false
    const colour = smallestShared(colouring.a)
    if (colour === null) return true
    const node = colouring.a.indexOf(colour)
    return colouring.b.some(
      (other, at) =>
        other === colour && left > 0 && search({ a: apart(colouring.a, node), b: apart(colouring.b, at) }),
    )
  }

  const same = search({ a: inA.map(() => 0), b: inB.map(() => 0) })
  return !same && left <= 0 ? null : same
}

function adjacencyOf(graph: Graph): Adjacency {
  const keys = [...graph.nodes.keys()]
  const position = new Map(keys.map((key, at) => [key, at]))
  return keys.map((key) => [...graph.neighbours(key)].map((next) => position.get(next)!))
}

/** Gives one node a colour of its own. */
function apart(colours: readonly number[], node: number): number[] {
  return colours.map((colour, at) => (at === node ? -1 : colour))
}

function countsOf(colours: readonly number[], size: number): number[] {
  const counts = new Array<number>(size).fill(0)
  for (const colour of colours) counts[colour]!++
  return counts
}

function sameCounts({ a, b }: Colouring, size: number): boolean {
  const counts = countsOf(b, size)
  return countsOf(a, size).every((count, colour) => count === counts[colour])
}

/** The colour that fewest nodes, but more than one, share; null where every node has its own. */
function smallestShared(colours: readonly number[]): number | null {
  let smallest: number | null = null
  const counts = countsOf(colours, colours.length)
  for (const [colour, count] of counts.entries()) {
    if (count > 1 && (smallest === null || count < counts[smallest]!)) smallest = colour
  }
  return smallest
}

import { seeded } from '../../src/core/statistics/random.ts'

interface Edges {
  readonly size: number
  has(a: number, b: number): boolean
}

/** Small graph problems with a best answer, found by trying all of them; half as flat rows, half as verl's. */
export function graphRows(count: number): readonly Readonly<Record<string, unknown>>[] {
  const random = seeded(11)
  return Array.from({ length: count }, (_, at) => {
    const task = tasks[at % tasks.length] as (random: () => number, at: number) => Problem
    const { name, solution, ...problem } = task(random, at)
    if (at % 2 === 0) return { task: name, difficulty: 'easy', solution, ...problem }
    const prompt = [{ role: 'user', content: problem.problem_text }]
    return {
      data_source: `${name}_hard`,
      prompt,
      extra_info: { ...problem, graph: JSON.stringify(problem.graph) },
      solution,
    }
  })
}

interface Problem {
  readonly name: string
  readonly problem_text: string
  readonly graph: object
  readonly exact_answer: number
  readonly solution: readonly string[]
}

const tasks = [
  chosen(
    'MCP',
    'Find the largest group in which all know each other.',
    (e, set) => pairs(set).every(([a, b]) => e.has(a, b)),
    1,
  ),
  chosen(
    'MIS',
    'Find the largest group in which no two know each other.',
    (e, set) => pairs(set).every(([a, b]) => !e.has(a, b)),
    1,
  ),
  chosen('MVC', 'Find the smallest group that meets every acquaintance.', covers, -1),
  distance,
  tour,
]

const nameOf = (node: number, at: number): string => `Person ${'ABCDEFG'[node]}${at}`

/** The best of all sets of nodes that are allowed. */
function chosen(
  name: string,
  wish: string,
  allowed: (edges: Edges, set: readonly number[]) => boolean,
  better: 1 | -1,
) {
  return (random: () => number, at: number): Problem => {
    const [size, links] = [6, [[0, 1]] as [number, number][]]
    for (const [a, b] of pairs([...Array(size).keys()])) if (a + b > 1 && random() < 0.5) links.push([a, b])
    const joined = new Set(links.map(([a, b]) => `${a}-${b}`))
    const edges = { size, has: (a: number, b: number) => joined.has(`${Math.min(a, b)}-${Math.max(a, b)}`) }
    const sets = Array.from({ length: 2 ** size }, (_, mask) =>
      [...Array(size).keys()].filter((n) => mask & (1 << n)),
    )
    const [best = []] = sets
      .filter((set) => set.length > 0 && allowed(edges, set))
      .sort((a, b) => better * (b.length - a.length))
    const names = Array.from({ length: size }, (_, node) => nameOf(node, at))
    return {
      name,
      problem_text: `${wish} ${links.map(([a, b]) => `${names[a]} knows ${names[b]}.`).join(' ')}`,
      graph: {
        nodes: names.map((name, id) => ({ id, name })),
        links: links.map(([source, target]) => ({ source, target })),
      },
      exact_answer: best.length,
      solution: best.map((node) => names[node] ?? ''),
    }
  }
}

const pairs = (set: readonly number[]): [number, number][] =>
  set.flatMap((a, at) => set.slice(at + 1).map((b): [number, number] => [a, b]))

function covers(edges: Edges, set: readonly number[]): boolean {
  const all = [...Array(edges.size).keys()]
  return pairs(all).every(([a, b]) => !edges.has(a, b) || set.includes(a) || set.includes(b))
}

/** A ring: the shorter way round. */
function distance(_: () => number, at: number): Problem {
  const [size, far] = [7, 2 + (at % 2)]
  const names = Array.from({ length: size }, (_, node) => nameOf(node, at))
  return {
    name: 'Distance',
    problem_text: `${names.join(', ')} sit in a ring. Please determine the shortest path between ${names[0]} and ${names[far]} in this network.`,
    graph: {
      nodes: names.map((name, id) => ({ id, name })),
      links: names.map((_, source) => ({ source, target: (source + 1) % size })),
    },
    exact_answer: far,
    solution: names.slice(0, far + 1),
  }
}

/** Four airports: of three tours the shortest. */
function tour(random: () => number, at: number): Problem {
  const airports = ['JFK', 'LAX', 'SEA', 'ORD']
  const km = new Map(pairs([0, 1, 2, 3]).map(([a, b]) => [`${a}${b}`, 100 + Math.floor(random() * 900)]))
  const length = (stops: readonly number[]): number =>
    stops.slice(1).reduce((sum, b, i) => {
      const a = stops[i] ?? 0
      return sum + (km.get(`${Math.min(a, b)}${Math.max(a, b)}`) ?? 0)
    }, 0)
  const [best = []] = [
    [0, 1, 2, 3, 0],
    [0, 1, 3, 2, 0],
    [0, 2, 1, 3, 0],
  ].sort((a, b) => length(a) - length(b))
  const lines = [...km].map(
    ([key, far]) => `${airports[Number(key[0])]} to ${airports[Number(key[1])]}: ${far}`,
  )
  return {
    name: 'TSP',
    problem_text: `Tour ${at}.\n- Airports to visit: ${airports.join(', ')}\n- Travel distances (in kilometers):\n${lines.join('\n')}\n`,
    graph: {},
    exact_answer: length(best),
    solution: best.map((stop) => airports[stop] ?? ''),
  }
}

import t, { type Test } from 'tap'
import { areIsomorphic } from '../../src/grading/graph/common-subgraph.ts'
import { type Finding, graphArena, npgMuse, strict } from '../../src/grading/graph/finding.ts'
import { Graph } from '../../src/grading/graph/graph.ts'
import { capitalLists, integerLists, integersOf, lineLists } from '../../src/grading/graph/lists.ts'
import { checkGraphAnswer, taskNamed } from '../../src/grading/graph/tasks.ts'
import { seeded } from '../support/seeded.ts'

const ring = (names: readonly string[], more: readonly (readonly [number, number])[] = []) => ({
  nodes: names.map((name, id) => ({ id, name })),
  links: [...names.map((_, id) => [id, (id + 1) % names.length] as const), ...more].map(
    ([source, target]) => ({ source, target }),
  ),
})
const graph = ring(['Ann', 'Bob', 'Cid', 'Dee', 'Eve'])

const found = (
  task: string,
  response: string,
  { faults = strict, value = graph as unknown, problemText = undefined as unknown } = {},
): string | number => {
  const problem = { graph: value, problemText, given: 'text' } as const
  const finding: Finding = checkGraphAnswer(taskNamed(task), problem, response, faults)
  return finding.status === 'solution' ? finding.value : finding.status
}

t.test('lists are found from left to right', async (t) => {
  t.strictSame(lineLists('[a] [b\n] [[c], d] x] ['), ['a', '[c'])
  t.strictSame(lineLists('[\n[\n]'), [])
  t.strictSame(integerLists('[1, 2] [] [3\n4] [5 x] [[6]'), ['1, 2', '3\n4', '6'])
  t.strictSame(integersOf(' 1,\u00a02 ٣ '), [1, 2, 3])
  t.equal(integersOf('1,'), null)
  t.equal(integersOf('9'.repeat(4301)), null)
  t.strictSame(capitalLists('[JFK, LAX] [] [jfk]'), ['JFK, LAX', ''])
})

type Row = readonly [task: string, response: string, wanted: unknown, more?: Parameters<typeof found>[2]]

const each = (t: Test, rows: readonly Row[], common: Row[3] = {}) => {
  for (const [task, response, wanted, more] of rows)
    t.equal(found(task, response, { ...common, ...more }), wanted, `${task} ${response}`)
}

t.test("a set of nodes solves its task only if it has the task's property", async (t) => {
  each(t, [
    ['MIS', '[Ann, Cid]', 2],
    ['MIS', '[Ann, Bob]', 'invalid'],
    ['MVC', '[Ann, Cid, Dee]', 3],
    ['MVC', '[Ann, Cid]', 'invalid'],
    ['MCP', '[Ann, Bob]', 2],
    ['Connected', '[Ann]', 1],
    ['Connected', '[Ann, Cid]', 'invalid'],
    ['Diameter', '[Ann, Bob,\nCid]', 2],
    ['Diameter', '[Ann, Eve, Dee, Cid]', 'invalid'],
    ['Diameter', '[Ann, Cid]', 'invalid'],
    ['MIS', '[Ann, Ann]', 'invalid'],
    ['MIS', '[Ann]', 'bad_problem', { value: [graph, graph] }],
  ])
})

t.test('in published mode, a set may name a node twice, and two graphs are no mistake', async (t) => {
  each(
    t,
    [
      ['MIS', '[Ann, Ann]', 2],
      ['MIS', '[Ann]', 'invalid', { value: [graph, graph] }],
      ['MIS', '[Ann]', 'no_answer', { value: [] }],
    ],
    { faults: npgMuse },
  )
})

t.test('a node name may contain commas', async (t) => {
  const value = ring(['Sammy Davis, Jr.', 'Davis', 'Jr.'])
  t.equal(found('MCP', '[Sammy Davis, Jr., Davis]', { value }), 2)
  t.equal(found('MCP', '[Sammy Davis, Davis]', { value }), 'invalid')
  t.equal(found('MCP', '[Sammy Davis, Jr., Davis]', { value, faults: npgMuse }), 2, 'Jr. and Davis')
})

t.test('in published mode, a name that is not text hides the names after it', async (t) => {
  const value = { nodes: [{ id: 0, name: 'Ann' }, { id: 1, name: 5 }, { id: 2 }], links: [] }
  t.equal(found('MIS', '[Ann, ]', { value, faults: npgMuse }), 1)
  t.equal(
    found('MIS', '[]', { value: { nodes: [{ id: 2 }] }, faults: npgMuse }),
    1,
    'no name is the empty one',
  )
  t.equal(found('MIS', '[Ann]', { value, faults: graphArena }), 1)
  t.equal(found('MIS', '[ Ann ]', { value, faults: graphArena }), 1)
})

const asking = (a: string, b: string): string =>
  `Example. Please determine the shortest path between X and Y in this network.
Please determine the shortest path between ${a} and ${b} in this network.`

t.test('a path must join the two ends of its problem', async (t) => {
  each(
    t,
    [
      ['Distance', '[Ann, Bob, Cid]', 2],
      ['Distance', '[Cid, Bob, Ann]', 'invalid'],
      ['Distance', '[Ann, Cid]', 'invalid'],
    ],
    { problemText: asking('Ann', 'Cid') },
  )
})

t.test('a path whose problem does not name two ends is not graded', async (t) => {
  each(t, [
    ['Distance', '[Ann, Bob, Cid]', 'bad_problem', { problemText: null }],
    ['Distance', '[Ann, Bob, Cid]', 'bad_problem', { problemText: 'none' }],
    ['Distance', '[Ann, Bob]', 'bad_problem', { problemText: asking('Ann', 'Ann') }],
  ])
  const value = ring(['Ann and Bob', 'Cid', 'Bob and Cid', 'Ann'])
  const options = { value, problemText: asking('Ann and Bob', 'Cid') }
  t.equal(found('Distance', '[Ann and Bob, Cid]', options), 'bad_problem', 'two ways to read it')
})

t.test('common neighbours are joined to both nodes of their problem', async (t) => {
  each(
    t,
    [
      ['Neighbor', '[Bob]', 1],
      ['Neighbor', '[Dee]', 'invalid'],
      ['Neighbor', '[Ann]', 'invalid'],
      ['Neighbor', '[Bob, Zoe]', 'invalid', { faults: npgMuse }],
    ],
    { problemText: 'Please identify the common neighbors of Ann and Cid in this network.' },
  )
})

t.test('in published mode, a problem that names no nodes raises', async (t) => {
  each(
    t,
    [
      ['Distance', '[Ann, Bob, Cid]', 'raised', { problemText: null }],
      ['Distance', '[Ann, Bob, Cid]', 'invalid'],
      ['Neighbor', '[Bob]', 'raised', { problemText: 'none' }],
    ],
    { faults: npgMuse },
  )
})

const molecule = (labels: string, links: readonly (readonly [number, number])[]) => ({
  nodes: [...labels].map((label, id) => ({ id, label })),
  links: links.map(([source, target]) => ({ source, target })),
})

const molecules = [
  molecule('CO', [[0, 1]]),
  molecule('OCN', [
    [0, 1],
    [1, 2],
  ]),
]

t.test('an edit distance is the number of edits that the matched atoms need', async (t) => {
  each(
    t,
    [
      ['GED', '[1, 0]', 2], // an atom and a bond are missing
      ['GED', '[0, 1]', 4],
      ['GED', '[1, 2]', 3],
      ['GED', '[1, 1]', 'invalid'],
      ['GED', '[1, 9]', 'invalid'],
      ['GED', 'none', 'no_answer'],
    ],
    { value: molecules },
  )
})

t.test('an edit distance without two molecules, the smaller one first, is not graded', async (t) => {
  each(t, [
    ['GED', '[1, 0]', 'bad_problem', { value: graph }],
    ['GED', '[1, 0]', 'bad_problem', { value: [...molecules].reverse() }],
    ['GED', '[0, 1, 2, 3, 4]', 'bad_problem', { value: [graph, graph] }], // no labels
    ['GED', '[1, 0]', 'bad_problem', { value: [molecules[0], 'x'] }],
  ])
})

t.test('in published mode, an edit distance has the faults of its original', async (t) => {
  each(
    t,
    [
      ['GED', '[1, 0]', 1],
      ['GED', '[1, 2]', 'invalid'],
      ['GED', '[1, 0] [7]', 1, { faults: graphArena }],
      ['GED', '[1, 0] [7,]', 'invalid', { faults: graphArena }],
      ['GED', '[0, 1, 2, 3, 4]', 'invalid', { value: [graph, graph] }],
      ['GED', '[1, 0]', 'raised', { value: graph }],
      ['GED', '[1, 0]', 'invalid', { value: [molecules[0], 'x'] }],
      ['GED', '[1, 0]', 'bad_problem', { value: 7 }],
    ],
    { value: molecules, faults: npgMuse },
  )
})

t.test('a common subgraph must be part of both molecules', async (t) => {
  each(
    t,
    [
      ['MCS', '[0, 1, 2], [3, 4, 5]', 3],
      ['MCS', '[0, 1, 2], [3, 5, 1]', 'invalid'],
      ['MCS', '[0, 1, 2], [3, 4]', 'invalid'],
      ['MCS', '[0, 1, 9], [0, 1, 9]', 'invalid'],
      ['MCS', '[0,], [1]', 'invalid'],
      ['MCS', '[0]', 'no_answer'],
      ['MCS', '[0], [0]', 'bad_problem', { value: [graph] }],
    ],
    { value: [graph, ring(['a', 'b', 'c', 'd', 'e', 'f'])] },
  )
})

t.test('in published mode, a common subgraph has the faults of its original', async (t) => {
  each(
    t,
    [
      ['MCS', '[0, 1, 9], [0, 1, 9]', 3],
      ['MCS', '[0,], [1]', 'no_answer', { faults: graphArena }],
      ['MCS', '[0], [0]', 'invalid', { value: graph }],
      ['MCS', '[0], [0]', 'bad_problem', { value: null }],
    ],
    { value: [graph, ring(['a', 'b', 'c', 'd', 'e', 'f'])], faults: npgMuse },
  )
})

const travel = `- Airports to visit: XXX, YYY
**Problem to Solve**
- Airports to visit: AAA, BBB, CCC.
AAA to BBB: 5
AAA to CCC: 7
BBB to CCC: 6
`

t.test('a tour must visit every airport once and return', async (t) => {
  each(
    t,
    [
      ['TSP', '[AAA, CCC, BBB, AAA]', 18],
      ['TSP', '[AAA, CCC, BBB]', 'invalid'],
      ['TSP', '[AAA, CCC, BBB, CCC, AAA]', 'invalid'],
      ['TSP', 'none', 'no_answer'],
    ],
    { problemText: travel },
  )
})

t.test('a tour whose problem does not give each distance once is not graded', async (t) => {
  for (const problemText of [7, 'none', `${travel}AAA to BBB: 6`, travel.replace('AAA to BBB: 5', '')])
    t.equal(found('TSP', '[AAA]', { problemText }), 'bad_problem', `${problemText}`)
})

t.test('in published mode, a tour has the faults of its original', async (t) => {
  const faulty = (text: unknown, response: string) =>
    found('TSP', response, { problemText: text, faults: npgMuse })
  t.equal(faulty(travel, '[XXX, YYY, XXX]'), 2 * 99_999, 'the example is taken for the problem')
  const chain = '- Airports to visit: AAA, BBB, CCC, DDD\nAAA to BBB: 5\nBBB to CCC: 6'
  t.equal(faulty(chain, '[AAA, BBB, CCC, DDD, AAA]'), 5 + 6 + (99_999 + 11) + 99_999)
  for (const [text, response, wanted] of [
    ['none', '[AAA]', 'no_answer'],
    [7, '[AAA]', 'raised'],
    ['', '[Ann]', 'no_answer'], // only capitals are read
    ['', '[AAA]', 'invalid'],
  ] as const)
    t.equal(faulty(text, response), wanted, `${text} ${response}`)
  each(
    t,
    [
      ['TSP', '[A, A]', 'raised', { value: ring(['A']) }], // no weights are read
      ['TSP', '[A, A]', 'no_answer', { value: { nodes: [] } }],
      ['TSP', '[A, A]', 'bad_problem', { value: 'x' }],
    ],
    { faults: npgMuse },
  )
})

t.test('a tour of many airports ends within its budget', async (t) => {
  const faulty = (text: unknown, response: string) =>
    found('TSP', response, { problemText: text, faults: npgMuse })
  const many = Array.from(
    { length: 300 },
    (_, at) => `X${String.fromCharCode(65 + (at % 26), 65 + Math.floor(at / 26))}`,
  )
  const tour = `[${[...many, many[0]].join(', ')}]`
  t.equal(faulty(`- Airports to visit: ${many.join(', ')}`, tour), 'budget_spent')
  t.equal(faulty(`- Airports to visit: ${'A, '.repeat(300_000)}`, '[A, A]'), 'invalid')
})

t.test('symmetric structures are compared exactly', async (t) => {
  const built = (
    edges: readonly (readonly [number, number])[],
    size: number,
    names: readonly number[],
  ): Graph => {
    const made = new Graph()
    for (const name of [...names].sort()) made.addNode(`n:${name}`)
    for (const [a, b] of edges) made.addEdge(`n:${names[a % size]}`, `n:${names[b % size]}`)
    return made
  }
  const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31))
  const next = seeded(seed)
  for (let run = 0; run < 50; run++) {
    const size = 2 + Math.floor(next() * 12)
    const edges = Array.from({ length: size * 2 }, () => [next() * size, next() * size] as const).map(
      ([a, b]) => [Math.floor(a), Math.floor(b)] as const,
    )
    const names = Array.from({ length: size }, (_, at) => at)
    const shuffled = names.map((name) => [next(), name] as const).sort(([a], [b]) => a - b)
    const a = built(edges, size, names)
    const b = built(
      edges,
      size,
      shuffled.map(([, name]) => name),
    )
    t.equal(areIsomorphic(a, b, 1_000_000), true, `seed ${seed}, run ${run}`)
  }
  const cycles = (length: number): Graph => {
    const names = Array.from({ length: 12 }, (_, at) => at)
    return built(
      names.map((at) => [at, at - (at % length) + ((at + 1) % length)] as const),
      12,
      names,
    )
  }
  t.equal(areIsomorphic(cycles(3), cycles(4), 1_000_000), false, 'all nodes look alike')
  t.equal(areIsomorphic(cycles(6), cycles(6), 1_000_000), true)
  t.equal(areIsomorphic(cycles(3), cycles(4), 100), null)
  t.equal(areIsomorphic(new Graph(), new Graph(), 100), true)
})

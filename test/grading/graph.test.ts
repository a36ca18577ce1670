import t from 'tap'
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

t.test("a set of nodes solves its task only if it has the task's property", async (t) => {
  t.equal(found('MIS', '[Ann, Cid]'), 2)
  t.equal(found('MIS', '[Ann, Bob]'), 'invalid')
  t.equal(found('MVC', '[Ann, Cid, Dee]'), 3)
  t.equal(found('MVC', '[Ann, Cid]'), 'invalid')
  t.equal(found('MCP', '[Ann, Bob]'), 2)
  t.equal(found('Connected', '[Ann]'), 1)
  t.equal(found('Connected', '[Ann, Cid]'), 'invalid')
  t.equal(found('Diameter', '[Ann, Bob,\nCid]'), 2)
  t.equal(found('Diameter', '[Ann, Eve, Dee, Cid]'), 'invalid')
  t.equal(found('Diameter', '[Ann, Cid]'), 'invalid')
  t.equal(found('MIS', '[Ann, Ann]'), 'invalid')
  t.equal(found('MIS', '[Ann, Ann]', { faults: npgMuse }), 2)
  t.equal(found('MIS', '[Ann]', { value: [graph, graph] }), 'bad_problem')
  t.equal(found('MIS', '[Ann]', { value: [graph, graph], faults: npgMuse }), 'invalid')
  t.equal(found('MIS', '[Ann]', { value: [], faults: npgMuse }), 'no_answer')
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

t.test('a path must join the two ends of its problem', async (t) => {
  const between = (a: string, b: string): string =>
    `Example. Please determine the shortest path between X and Y in this network.
Please determine the shortest path between ${a} and ${b} in this network.`
  const problemText = between('Ann', 'Cid')
  t.equal(found('Distance', '[Ann, Bob, Cid]', { problemText }), 2)
  t.equal(found('Distance', '[Cid, Bob, Ann]', { problemText }), 'invalid')
  t.equal(found('Distance', '[Ann, Cid]', { problemText }), 'invalid')
  t.equal(found('Distance', '[Ann, Bob, Cid]', { problemText: null }), 'bad_problem')
  t.equal(found('Distance', '[Ann, Bob, Cid]', { problemText: 'none' }), 'bad_problem')
  t.equal(found('Distance', '[Ann, Bob]', { problemText: between('Ann', 'Ann') }), 'bad_problem')
  const value = ring(['Ann and Bob', 'Cid', 'Bob and Cid', 'Ann'])
  const options = { value, problemText: between('Ann and Bob', 'Cid') }
  t.equal(found('Distance', '[Ann and Bob, Cid]', options), 'bad_problem', 'two ways to read it')
  const faulty = { faults: npgMuse, problemText: null }
  t.equal(found('Distance', '[Ann, Bob, Cid]', faulty), 'raised')
  t.equal(found('Distance', '[Ann, Bob, Cid]', { faults: npgMuse }), 'invalid')
  const common = 'Please identify the common neighbors of Ann and Cid in this network.'
  t.equal(found('Neighbor', '[Bob]', { problemText: common }), 1)
  t.equal(found('Neighbor', '[Dee]', { problemText: common }), 'invalid')
  t.equal(found('Neighbor', '[Ann]', { problemText: common }), 'invalid')
  t.equal(found('Neighbor', '[Bob]', { faults: npgMuse, problemText: 'none' }), 'raised')
  t.equal(found('Neighbor', '[Bob, Zoe]', { faults: npgMuse, problemText: common }), 'invalid')
})

const molecule = (labels: string, links: readonly (readonly [number, number])[]) => ({
  nodes: [...labels].map((label, id) => ({ id, label })),
  links: links.map(([source, target]) => ({ source, target })),
})

t.test('an edit distance is the number of edits that the matched atoms need', async (t) => {
  const value = [
    molecule('CO', [[0, 1]]),
    molecule('OCN', [
      [0, 1],
      [1, 2],
    ]),
  ]
  t.equal(found('GED', '[1, 0]', { value }), 2, 'an atom and a bond are missing')
  t.equal(found('GED', '[0, 1]', { value }), 4)
  t.equal(found('GED', '[1, 2]', { value }), 3)
  t.equal(found('GED', '[1, 0]', { value, faults: npgMuse }), 1)
  t.equal(found('GED', '[1, 2]', { value, faults: npgMuse }), 'invalid')
  t.equal(found('GED', '[1, 0] [7]', { value, faults: graphArena }), 1)
  t.equal(found('GED', '[1, 0] [7,]', { value, faults: graphArena }), 'invalid')
  t.equal(found('GED', '[1, 1]', { value }), 'invalid')
  t.equal(found('GED', '[1, 9]', { value }), 'invalid')
  t.equal(found('GED', 'none', { value }), 'no_answer')
  t.equal(found('GED', '[1, 0]', { value: graph }), 'bad_problem')
  t.equal(found('GED', '[1, 0]', { value: [...value].reverse() }), 'bad_problem')
  t.equal(found('GED', '[0, 1, 2, 3, 4]', { value: [graph, graph] }), 'bad_problem', 'no labels')
  t.equal(found('GED', '[0, 1, 2, 3, 4]', { value: [graph, graph], faults: npgMuse }), 'invalid')
  t.equal(found('GED', '[1, 0]', { value: graph, faults: npgMuse }), 'raised')
  t.equal(found('GED', '[1, 0]', { value: [value[0], 'x'], faults: npgMuse }), 'invalid')
  t.equal(found('GED', '[1, 0]', { value: [value[0], 'x'] }), 'bad_problem')
  t.equal(found('GED', '[1, 0]', { value: 7, faults: npgMuse }), 'bad_problem')
})

t.test('a common subgraph must be part of both molecules', async (t) => {
  const value = [graph, ring(['a', 'b', 'c', 'd', 'e', 'f'])]
  t.equal(found('MCS', '[0, 1, 2], [3, 4, 5]', { value }), 3)
  t.equal(found('MCS', '[0, 1, 2], [3, 5, 1]', { value }), 'invalid')
  t.equal(found('MCS', '[0, 1, 2], [3, 4]', { value }), 'invalid')
  t.equal(found('MCS', '[0, 1, 9], [0, 1, 9]', { value }), 'invalid')
  t.equal(found('MCS', '[0, 1, 9], [0, 1, 9]', { value, faults: npgMuse }), 3)
  t.equal(found('MCS', '[0,], [1]', { value }), 'invalid')
  t.equal(found('MCS', '[0,], [1]', { value, faults: graphArena }), 'no_answer')
  t.equal(found('MCS', '[0]', { value }), 'no_answer')
  t.equal(found('MCS', '[0], [0]', { value: graph, faults: npgMuse }), 'invalid')
  t.equal(found('MCS', '[0], [0]', { value: null, faults: npgMuse }), 'bad_problem')
  t.equal(found('MCS', '[0], [0]', { value: [graph] }), 'bad_problem')
})

t.test('a tour must visit every airport once and return', async (t) => {
  const problemText = `- Airports to visit: XXX, YYY
**Problem to Solve**
- Airports to visit: AAA, BBB, CCC.
AAA to BBB: 5
AAA to CCC: 7
BBB to CCC: 6
`
  t.equal(found('TSP', '[AAA, CCC, BBB, AAA]', { problemText }), 18)
  t.equal(found('TSP', '[AAA, CCC, BBB]', { problemText }), 'invalid')
  t.equal(found('TSP', '[AAA, CCC, BBB, CCC, AAA]', { problemText }), 'invalid')
  t.equal(found('TSP', 'none', { problemText }), 'no_answer')
  t.equal(found('TSP', '[AAA]', { problemText: 7 }), 'bad_problem')
  t.equal(found('TSP', '[AAA]', { problemText: 'none' }), 'bad_problem')
  t.equal(found('TSP', '[AAA]', { problemText: `${problemText}AAA to BBB: 6` }), 'bad_problem')
  t.equal(found('TSP', '[AAA]', { problemText: problemText.replace('AAA to BBB: 5', '') }), 'bad_problem')
  const faulty = (text: unknown, response: string) =>
    found('TSP', response, { problemText: text, faults: npgMuse })
  t.equal(faulty(problemText, '[XXX, YYY, XXX]'), 2 * 99_999, 'the example is taken for the problem')
  const chain = '- Airports to visit: AAA, BBB, CCC, DDD\nAAA to BBB: 5\nBBB to CCC: 6'
  t.equal(faulty(chain, '[AAA, BBB, CCC, DDD, AAA]'), 5 + 6 + (99_999 + 11) + 99_999)
  t.equal(faulty('none', '[AAA]'), 'no_answer')
  const many = Array.from(
    { length: 300 },
    (_, at) => `X${String.fromCharCode(65 + (at % 26), 65 + Math.floor(at / 26))}`,
  )
  const tour = `[${[...many, many[0]].join(', ')}]`
  t.equal(faulty(`- Airports to visit: ${many.join(', ')}`, tour), 'budget_spent')
  t.equal(faulty(`- Airports to visit: ${'A, '.repeat(300_000)}`, '[A, A]'), 'invalid')
  t.equal(faulty(7, '[AAA]'), 'raised')
  t.equal(faulty('', '[Ann]'), 'no_answer', 'only capitals are read')
  t.equal(faulty('', '[AAA]'), 'invalid')
  t.equal(found('TSP', '[A, A]', { value: ring(['A']), faults: npgMuse }), 'raised', 'no weights are read')
  t.equal(found('TSP', '[A, A]', { value: { nodes: [] }, faults: npgMuse }), 'no_answer')
  t.equal(found('TSP', '[A, A]', { value: 'x', faults: npgMuse }), 'bad_problem')
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

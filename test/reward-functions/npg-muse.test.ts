import t from 'tap'
import npgMuse from '../../reward-functions/npg-muse.ts'
import type { Json, Score } from '../../src/contract/index.ts'
import { RuleTimeout } from '../../src/contract/index.ts'
import { type RowParts, ruleContract, scored } from '../../src/contract/testing.ts'
import { nearLinear } from '../support/hostile.ts'

const names = ['Ann', 'Bob', 'Cid', 'Dee']
const nodes = names.map((name, id) => ({ id, name }))
/** Ann, Bob and Cid know each other; Dee knows Cid. */
const graph = {
  nodes,
  links: [
    { source: 0, target: 1 },
    { source: 1, target: 2 },
    { source: 0, target: 2 },
    { source: 2, target: 3 },
  ],
}
const thought = '<think>\nAll pairs.\n</think>\n'
const loop = 'Wait, let me recheck once more. '.repeat(6)
const published = { mode: 'published' }

const clique = (response: string, label: Json = 3, rest: RowParts = {}): RowParts => ({
  response,
  dataSource: 'MCP_easy_complicated',
  extraInfo: { graph, exact_answer: label },
  ...rest,
})

const score = (parts: RowParts): Score => {
  const found = scored(npgMuse, parts)
  if (!found) throw new Error('npg-muse always applies')
  return found
}

ruleContract(t, npgMuse, {
  full: clique(`${thought}[Ann, Bob, Cid]`),
  zero: clique(`[Ann, Dee] ${loop}`),
  malformed: clique(`${thought}Ann, Bob and Cid`),
  hacks: {
    'right only while thinking': clique('<think>\n[Ann, Bob, Cid]</think>\nDone.'),
    'unending thought': clique('<think>\n[Ann, Bob, Cid]'),
    'a name three times': clique(`${thought}[Ann, Ann, Ann]`),
    'invented names beside one that exists': clique(`${thought}[Ann, Zoe, Yan]`),
    'self-loops as edges': clique(`${thought}[Ann, Dee]`, 2, {
      extraInfo: {
        exact_answer: 2,
        graph: { nodes, links: [0, 3].map((id) => ({ source: id, target: id })) },
      },
    }),
    'no label': clique(`${thought}[Ann, Bob, Cid]`, null),
    'a status as label': clique(`${thought}nothing`, -1),
    'an opening tag for a thought': clique('<think>\n</think>[Ann, Bob, Cid]'),
    'a loop': clique(`${thought}${loop}[Ann, Bob, Cid]`),
  },
})

t.test('each reward type pays for its own parts', async (t) => {
  const typed = (type: string, response: string): Score =>
    score(clique(response, 4, { dataSource: `MCP_hard_${type}` }))
  const right = `${thought}[Ann, Bob, Cid, Dee]`
  const short = `${thought}[Ann, Bob]${loop}`
  t.equal(typed('binary', short).value, 0)
  t.strictSame(typed('binary', right).parts, { answer_accuracy: 0 }, 'Ann does not know Dee')
  t.match(typed('binary_format', short), { value: 0.5, parts: { answer_accuracy: 0, format_accuracy: 1 } })
  t.match(typed('binary_format_repeat', short), { value: 0, parts: { repeat_proportion: 1 } })
  t.equal(typed('ratio_quality_format_repeat', short).value, 0.5 * (2 / 4) + 0.5 - 0.5)
  t.equal(typed('complicated', short).value, 0.5 * (2 / 4) + 1 - 1)
  t.equal(typed('complicated', right).value, 0, 'an invalid answer costs as much as the format earns')
})

t.test('an unknown graph task throws', async (t) => {
  for (const dataSource of ['MCP', 'MCP_', 'mcp_binary', 'MCP_medium_binary', 'MCP_easy_easy_binary', '']) {
    t.throws(() => score(clique('', 3, { dataSource })), /data_source must be/, dataSource)
  }
})

t.test('a row that cannot be graded pays nothing for the answer and is flagged', async (t) => {
  const broken = (extraInfo: Record<string, Json>): void => {
    const found = score(clique(`${thought}[Ann, Bob, Cid]`, 3, { extraInfo }))
    t.match(found, { value: 1, flags: ['bad_problem'], parts: { answer_accuracy: 0 } })
  }
  broken({ graph })
  broken({ graph, exact_answer: '3e0' })
  t.match(score(clique(`${thought}[Ann]`, null)).details, { reason: /exact_answer is not a number/ })
  broken({ exact_answer: 3 })
  broken({ graph: '{', exact_answer: 3 })
  broken({ graph: { nodes }, exact_answer: 3 })
  broken({ graph: { nodes, links: [{ source: 0, target: '1' }] }, exact_answer: 3 })
  broken({ graph: { nodes: [...nodes, { id: 0, name: 'Eve' }], links: [] }, exact_answer: 3 })
  broken({ graph: { nodes: [...nodes, { id: 9, name: ' Ann' }], links: [] }, exact_answer: 3 })
})

t.test('a label that an answer beats is flagged', async (t) => {
  t.match(score(clique(`${thought}[Ann, Bob, Cid]`, '2.5')), { value: 3, flags: ['better_than_exact'] })
  t.match(score(clique(`${thought}[Ann, Bob, Cid]`, 0)), { value: 3, flags: ['better_than_exact'] })
})

t.test('a score says what was read and why it is low', async (t) => {
  const details = (response: string): unknown => score(clique(response)).details
  t.strictSame(details('so [Ann, Bob]'), { status: 'solution', extracted: 'Ann, Bob', value: 2 })
  t.match(details('so [Ann, Dee]'), { status: 'invalid', extracted: 'Ann, Dee', reason: /not joined/ })
  t.match(details('so Ann'), { status: 'no_answer', reason: /no list/ })
})

t.test('published mode keeps the faults of the original', async (t) => {
  const faulty = (response: string, label: Json, rest: RowParts = {}): Score =>
    score(clique(response, label, { options: published, ...rest }))
  for (const [response, label, wanted, why] of [
    ['<think>\n[Ann, Zoe, Cid', 3, 0, 'no list'],
    ['<think>\n[Ann, Zoe, Cid]', 2, 3, 'thinking is searched, unknown names are skipped'],
    ['[Ann, Bob, Cid]', null, 3, 'without a label the raw value is paid'],
    ['nothing', -1, 2, 'a status is compared with the label'],
    ['[Ann, Bob, Cid]', '3.9', 2, 'labels are truncated'],
    ['[Ann, Bob, Cid]', 2, 0.75, 'a better answer is paid by its ratio'],
  ] as const)
    t.equal(faulty(response, label).value, wanted, why)
  t.equal(faulty('[Ann]', 3, { dataSource: 'MCP_binary', extraInfo: { graph } }).parts?.answer_accuracy, 1)
  t.equal(faulty('[Ann]', 3, { extraInfo: { graph: null } }).value, 0)
})

t.test('in published mode, a label that is no number to divide by is rejected, not scored', async (t) => {
  const faulty = (label: Json) => score(clique('[Ann]', label, { options: published }))
  t.throws(() => faulty('three'), /exact_answer is not a finite number/)
  t.throws(() => faulty([3]), /exact_answer is not a finite number/)
  t.throws(() => faulty(0), /exact_answer is 0/)
})

t.test('two structures too much alike to be compared are a timeout, not a score', async (t) => {
  const copies = (size: number, count: number): Json => ({
    nodes: Array.from({ length: size * count }, (_, id) => ({ id })),
    links: Array.from({ length: size * count }, (_, id) => ({
      source: id,
      target: id - (id % size) + ((id + 1) % size),
    })),
  })
  const list = `[${Array.from({ length: 6000 }, (_, id) => id).join()}]`
  const parts = {
    response: `${list}, ${list}`,
    dataSource: 'MCS_binary',
    extraInfo: { graph: [copies(6000, 1), copies(3, 2000)], exact_answer: 3 },
  }
  t.throws(() => score(parts), RuleTimeout)
})

t.test('hostile text is scored in linear time', async (t) => {
  const pair = [graph, graph].map((one) => ({ ...one, nodes: nodes.map(({ id }) => ({ id, label: 'C' })) }))
  const text = '- Airports to visit: AAA, BBB\nAAA to BBB: 5'
  for (const mode of ['strict', 'published']) {
    for (const task of ['MCP', 'GED', 'MCS', 'TSP', 'Distance']) {
      const extraInfo = {
        graph: task === 'GED' || task === 'MCS' ? pair : graph,
        problem_text: text,
        exact_answer: 3,
      }
      const dataSource = `${task}_${task === 'MCP' ? 'complicated' : 'binary'}`
      nearLinear(t, (response) =>
        score({ response: `[${response}`, dataSource, extraInfo, options: { mode } }),
      )
    }
  }
})

t.test('published mode refuses a row without extra_info and scores an empty one', async (t) => {
  const parts = {
    dataSource: 'MCP_binary',
    response: '<think>\nall pairs\n</think>\n\n[Ann, Bob]',
    groundTruth: '2',
  }
  const options = { mode: 'published' }
  t.throws(() => scored(npgMuse, { ...parts, options, hasExtraInfo: false }), {
    message: /extra_info is missing/,
  })
  t.equal(scored(npgMuse, { ...parts, options })?.value, -1)
})

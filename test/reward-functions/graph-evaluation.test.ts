import t from 'tap'
import clrs from '../../reward-functions/clrs.ts'
import grapharena from '../../reward-functions/grapharena.ts'
import grapharenaBoxed from '../../reward-functions/grapharena-boxed.ts'
import graphwiz from '../../reward-functions/graphwiz.ts'
import graphwizRevised from '../../reward-functions/graphwiz-revised.ts'
import nodeLink from '../../reward-functions/node-link.ts'
import type { Rule } from '../../src/contract/index.ts'
import { type RowParts, ruleContract, scored } from '../../src/contract/testing.ts'
import { nearLinear } from '../support/hostile.ts'

const publishedMode = { mode: 'published' }
const thought = '<think>\nstep by step\n</think>\n'

/** Four people in a ring, the first joined to the third. */
const graph = {
  nodes: ['Ann', 'Bob', 'Cid', 'Dee'].map((name, id) => ({ id, name })),
  links: [
    [0, 1],
    [1, 2],
    [2, 3],
    [3, 0],
    [0, 2],
  ].map(([source = 0, target = 0]) => ({ source, target, weight: 10 })),
}
const arena = (dataSource: string, response: string, rest: RowParts['extraInfo'] = {}): RowParts => ({
  dataSource,
  response,
  prompt: 'Answer as [A, B].',
  extraInfo: { graph, ends: [1, 3], exact_answer: 2, ...rest },
})
const value = <T, O>(rule: Rule<T, O>, parts: RowParts): number | undefined => scored(rule, parts)?.value

t.test('grapharena: an equal or better answer than the label is right', async (t) => {
  ruleContract(t, grapharena, {
    full: arena('Distance', `${thought}[Bob, Ann, Dee]`),
    zero: arena('Distance', `${thought}[Bob, Dee]`),
    malformed: arena('Distance', `${thought}Bob, Ann, Dee`),
    hacks: {
      'the right list, then another': arena('Distance', `${thought}[Bob, Ann, Dee] [Zoe]`),
      'invented names': arena('Distance', `${thought}[Bob, Zoe, Ann, Dee]`),
      'thinking only': arena('Distance', '<think>[Bob, Ann, Dee]</think>'),
    },
  })
  t.equal(value(grapharena, arena('Neighbor', '[Ann, Cid]')), 1)
  t.equal(value(grapharena, arena('MCP_hard', '[Ann, Bob, Cid]', { exact_answer: 3 })), 1)
  t.equal(value(grapharena, arena('MIS', '[Bob, Dee]')), 1)
  t.match(scored(grapharena, arena('MVC', '[Ann, Cid]', { exact_answer: 3 })), {
    value: 1,
    flags: ['better_than_exact'],
  })
  t.throws(() => value(grapharena, arena('Colouring', '')), /data_source must begin/)
})

t.test('grapharena: published mode keeps the faults of the original', async (t) => {
  const published = (task: string, response: string, rest = {}) =>
    scored(grapharena, { ...arena(task, response, rest), options: publishedMode })
  for (const [task, response, wanted, why, rest] of [
    ['Distance', '[Bob, Ann, Dee] [Zoe]', { value: 1 }, 'earlier lists are tried'],
    ['Distance', '[Bob, Zoe, Ann, Dee]', { value: 1 }, 'unknown names are skipped'],
    ['MVC', '[Ann, Zoe, Cid]', { value: 1 }, 'unknown names are skipped'],
    ['MIS', '[]', { parts: { value: 0 } }, 'an empty set is independent'],
    ['MVC', '[Ann]', { parts: { hallucination: 1 } }, 'a set that solves nothing is made up'],
    ['MIS', 'none', { parts: { value: -1 } }, 'no list'],
    ['MIS', '[Bob, Dee]', { value: 0 }, 'no label', { exact_answer: null }],
    ['MCP', '[Ann, Bob, Cid]', { value: 1 }, 'labels of hard tasks may be beaten'],
    ['Connected', '[Ann, Bob]', { parts: { value: -2 } }, 'one component twice'],
  ] as const)
    t.hasStrict(published(task, response, rest), wanted, `${task} ${response}: ${why}`)
  t.throws(() => published('MIS', '[Bob]', { graph: 'none' }), /cannot be graded/)
})

t.test('a tour is as long as the weights of the links say', async (t) => {
  const names = ['AAA', 'BBB', 'CCC']
  const airports = {
    nodes: names.map((name, id) => ({ id, name })),
    links: [
      { source: 0, target: 1, weight: 5 },
      { source: 1, target: 2, weight: 6 },
      { source: 0, target: 2, weight: 7 },
    ],
  }
  for (const options of [{}, publishedMode]) {
    const tour = (response: string, links = airports.links) =>
      scored(grapharena, {
        ...arena('TSP', response, { graph: { ...airports, links }, exact_answer: 18 }),
        options,
      })
    t.equal(tour('[BBB, CCC, AAA, BBB]')?.value, 1)
    t.equal(tour('[BBB, CCC, BBB]')?.parts?.value, -2)
  }
  const part = { graph: { ...airports, links: airports.links.slice(1) }, exact_answer: 18 }
  t.match(scored(grapharena, arena('TSP', '[AAA, BBB, CCC, AAA]', part)), { flags: ['bad_problem'] })
})

t.test('grapharena-boxed: the answer is read from its place', async (t) => {
  ruleContract(t, grapharenaBoxed, {
    full: arena('Distance', `${thought}so $\\boxed{\\text{Bob, Ann, Dee}}$`),
    zero: arena('Distance', `${thought}so \\boxed{[Bob, Dee]}`),
    malformed: arena('Distance', `${thought}so \\boxed{[Bob, Ann, Dee]`),
    hacks: {
      'a list outside the box': arena('Distance', `${thought}[Bob, Ann, Dee]`),
      'a box in the thinking': arena('Distance', '<think>\\boxed{[Bob, Ann, Dee]}</think>'),
    },
  })
  const published = (response: string, after = 'box') =>
    value(grapharenaBoxed, { ...arena('Distance', response), options: { ...publishedMode, after } })
  t.equal(published('The final answer is: Bob, Ann, Dee.'), 1, 'a spoken answer counts without a box')
  t.equal(published('\\boxed Bob, Ann, Dee$'), 1)
  t.equal(published('\\fbox{Bob, Ann, Dee}'), 0, 'a frame loses its first letter')
  t.equal(published('so ### Bob, Ann, Dee', 'hashes'), 1)
  t.equal(published('none'), 0)
  const hashed = { ...arena('Distance', 'so ### [Bob, Ann, Dee]'), options: { after: 'hashes' } }
  t.equal(value(grapharenaBoxed, hashed), 1)
  t.equal(value(grapharenaBoxed, { ...hashed, prompt: [{ role: 'user', content: 'Answer as [A].' }] }), 1)
})

const arcs = 'The nodes are numbered from 0 to 3, and the edges are: (0->1) (1->2). Order them.'
const wiz = (dataSource: string, groundTruth: string, response: string, rest: RowParts = {}): RowParts => ({
  dataSource,
  groundTruth,
  response,
  prompt: arcs,
  ...rest,
})

t.test('graphwiz: each task has its kind of answer', async (t) => {
  ruleContract(t, graphwiz, {
    full: wiz('cycle', 'No, there is none. ### No', `${thought}### No.`),
    zero: wiz('cycle', '### No', `${thought}### Yes.`),
    malformed: wiz('cycle', '### No', `${thought}No`),
    hacks: {
      'nothing of the kind': wiz('cycle', '### No', '### There is nothing to know'),
      'both words': wiz('cycle', '### No', '### yes and no'),
      'thinking only': wiz('cycle', '### No', '<think>### No</think> I pass'),
    },
  })
  const right = (task: string, truth: string, response: string): void =>
    void t.equal(value(graphwiz, wiz(task, truth, response)), 1, `${task} ${response}`)
  const wrong = (task: string, truth: string, response: string): void =>
    void t.equal(value(graphwiz, wiz(task, truth, response)), 0, `${task} ${response}`)
  right('flow', '### 1,017.', '### 1017 units')
  right('topology', '### [[3, 0, 1, 2]]', '### [0, 3, 1, 2]')
  right('topology', '', '### 3 -> 0 -> 1 -> 2.')
  wrong('flow', '### 17', '### -17')
  wrong('flow', '### 17', '### 16, 17')
  wrong('flow', '### 5', '### .5')
  wrong('topology', '', '### ')
  wrong('topology', '', '### [1, 0, 2, 3]')
  wrong('topology', '', '### [0, 1, 2]')
  wrong('topology', '', '### [0, 1, 2, 3, 0]')
  wrong('topology', '', '### [0, 1, 2, 3] [0]')
  t.equal(value(graphwiz, wiz('topology', '### [1, 0]', '### [1, 0]', { prompt: '' })), 1)
  t.throws(() => value(graphwiz, wiz('cycle', 'maybe', '### no')), /ground_truth has no yes or no/)
  t.throws(() => value(graphwiz, wiz('flow', '1/2', '### 1')), /ground_truth has no number/)
  t.throws(() => value(graphwiz, wiz('colour', 'no', '### no')), /data_source must be one of/)
})

t.test('graphwiz in published mode reads substrings', async (t) => {
  for (const [task, truth, response, wanted] of [
    ['cycle', '### No', '### There is nothing', 1],
    ['cycle', '### No', 'so no', 1],
    ['cycle', '### No', 'so yes', 0],
    ['cycle', '### No', 'so', 0],
    ['flow', '### 17', 'about -17.001', 1],
    ['flow', 'none', '', 1], // no number counts as 0
    ['topology', '### [[0, 1]]', '###', 1],
    ['topology', '[0, 1]', 'there is 1]', 1],
    ['triangle', '3', '### 3', 0],
  ] as const)
    t.equal(
      value(graphwiz, wiz(task, truth, response, { options: publishedMode })),
      wanted,
      `${task} ${truth}: ${response}`,
    )
})

t.test('graphwiz-revised: the answer is read from its place', async (t) => {
  ruleContract(t, graphwizRevised, {
    full: wiz('cycle', '### Yes', `${thought}so $\\boxed{\\text{yes}}$.`),
    zero: wiz('cycle', '### Yes', `${thought}so \\boxed{no}.`),
    malformed: wiz('cycle', '### Yes', `${thought}so \\boxed{yes`),
    hacks: {
      'no box': wiz('cycle', '### Yes', `${thought}yes`),
      'a box for each': wiz('cycle', '### Yes', `${thought}\\boxed{yes} \\boxed{no}`),
      'a box in the thinking': wiz('cycle', '### Yes', '<think>\\boxed{yes}'),
    },
  })
  t.equal(value(graphwizRevised, wiz('topology', '', '\\boxed{[0, 3, 1, 2]}')), 1)
  t.equal(value(graphwizRevised, wiz('flow', '### 3', 'so ### 3.', { options: { after: 'hashes' } })), 1)
})

const publishedRevised = (task: string, truth: string, response: string, after = 'box') =>
  scored(graphwizRevised, wiz(task, truth, response, { options: { ...publishedMode, after } }))

t.test('graphwiz-revised: published mode reads a label and a number by what they mean', async (t) => {
  t.equal(publishedRevised('cycle', '### YES', '\\boxed{{Yes}}')?.value, 1)
  t.match(publishedRevised('flow', '### 3', '\\boxed{x = 9/3}'), { value: 1, details: { extracted: 3 } })
  t.equal(publishedRevised('cycle', '###', '\\boxed{Yes}')?.value, 0)
})

t.test('graphwiz-revised: published mode reads an order as Python reads a list', async (t) => {
  const value = (order: string) => publishedRevised('topology', '[0]', `\\boxed{${order}}`)?.value
  t.equal(value('0, 1, 0, 1, 2'), 1, 'nodes may be repeated')
  t.equal(value('(0, 1, 2)'), 1)
  for (const order of ['[0, 1, 3]', '(0)', '[01, 1, 2]', '012', '[0.0, 1, 2]', '[0, [1], 2]', '[]', '{}'])
    t.equal(value(order), 0, order)
})

t.test('graphwiz-revised: published mode reads the place that the model writes to', async (t) => {
  t.equal(publishedRevised('cycle', '### Yes', '### Yes.', 'hashes')?.value, 1)
  t.equal(publishedRevised('cycle', '### Yes', 'Yes', 'hashes')?.value, 0)
  t.equal(publishedRevised('cycle', '### Yes', 'Yes')?.value, 0)
})

t.test('graphwiz-revised: published mode fails where the original throws', async (t) => {
  t.throws(() => publishedRevised('triplet', '3', '\\boxed{3}'), /not a task of GraphWiz-Revised/)
  t.throws(() => publishedRevised('flow', '3', '\\boxed{\\sqrt}'), /original throws/)
})

t.test('node-link: the label in the last box counts', async (t) => {
  const label = (response: string, options = {}): RowParts => ({
    response,
    groundTruth: 'Rule_Learning',
    options,
  })
  ruleContract(t, nodeLink, {
    full: label(`${thought}\\boxed{\\text{rule\\_learning}}`),
    zero: label(`${thought}\\boxed{Theory}`),
    malformed: label(`${thought}\\boxed{Rule_Learning`),
    hacks: {
      'no box': label('Rule_Learning'),
      'all labels': label('\\boxed{Rule_Learning, Theory}'),
      'a box in the thinking': label('<think>\\boxed{Rule_Learning}</think>'),
    },
  })
  t.equal(value(nodeLink, label('\\boxed{\\text{Rule\\_Learning}}', publishedMode)), 1)
  t.equal(value(nodeLink, label('\\boxed{\\textbf{Rule_Learning}}', publishedMode)), 0, '`bf` stays')
  t.equal(value(nodeLink, label('<think>\\boxed{Rule_Learning}', publishedMode)), 1)
})

t.test('clrs: the final result counts, whatever hints precede it', async (t) => {
  const result = (response: string, options = {}): RowParts => ({
    response,
    groundTruth: 'trace | [0 1 2]\n\n',
    options,
  })
  ruleContract(t, clrs, {
    full: result(`${thought}[2 1 0], [1 2 0] | [0 1 2]`),
    zero: result(`${thought}[0 2 1]`),
    malformed: result(''),
    hacks: {
      'thinking only': result('<think>[0 1 2]'),
      'the result as a hint': result('[0 1 2] | [0 2 1]'),
    },
  })
  t.equal(value(clrs, result('[0 1 2]', publishedMode)), 1)
})

t.test('hostile text is scored in linear time', async (t) => {
  const box = (text: string): string => `\\boxed{${text}}`
  nearLinear(t, (text) => value(graphwiz, wiz('flow', '1', `### ${text}`)))
  nearLinear(t, (text) => value(graphwiz, wiz('topology', '1', `### ${text}`)))
  nearLinear(t, (text) => value(graphwiz, wiz('cycle', 'no', text, { options: publishedMode })))
  nearLinear(t, (text) => value(graphwizRevised, wiz('flow', '1', box(text), { options: publishedMode })))
  nearLinear(t, (text) => value(nodeLink, { response: box(text), groundTruth: 'a' }))
  nearLinear(t, (text) =>
    value(grapharenaBoxed, { ...arena('MIS', `answer is ${text}`), options: publishedMode }),
  )
})

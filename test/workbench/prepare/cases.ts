import { sources } from '../../support/training-sources.ts'

const [talk = {}] = sources['tool-call']?.(1) ?? []
const [delivery = {}] = sources.rider?.(1) ?? []
const [graph = {}] = sources['npg-muse']?.(1) ?? []
const [user, said] = [
  { role: 'user', content: 'Hi' },
  { role: 'assistant', content: 'a' },
] as const

/** A family, a source row that it cannot use, and the reason. */
export const unusableRows: readonly (readonly [string, object, RegExp])[] = [
  ['countdown', { target: 100, nums: [1, 1, 1] }, /no expression/],
  ['countdown', { target: 'x', nums: [1, 2] }, /target is not a whole number/],
  ['countdown', { target: 3, nums: [1] }, /at least two/],
  ['countdown', { target: 3, nums: [1, 2], solution: '1 + 1' }, /earns 0.2 of 1/],
  ['tool-call', { ...talk, 2: { role: 'assistant', content: '[1, 2]' } }, /not a list of calls/],
  ['tool-call', { ...talk, 3: { role: 'tool', content: 'done' } }, /not a list of results/],
  ['tool-call', { 1: talk[1], 2: { role: 'assistant', content: 'No.' } }, /no assistant turn/],
  ['tool-call', { messages: [{ role: 'assistant', content: '<tool_call>x</tool_call>' }] }, /no user turn/],
  [
    'tool-call',
    { messages: [talk[1], { role: 'assistant', content: '<tool_call>x</tool_call>' }] },
    /earns 0 of 1.1 \(not_json/,
  ],
  ['rider', { ...delivery, target: '{"Thought": ""}' }, /rejects the row: .*lacks/],
  ['rider', { ...delivery, target: 'hello' }, /rejects the row/],
  ['rider', { ...delivery, grm_input: 'Please judge {reponse}' }, /no {response}/],
  ['pairs', { prompt: 'Hi', chosen: 'a', rejected: 'a' }, /earns/],
  ['pairs', { prompt: 'Hi', chosen: 'a' }, /rejected is missing/],
  ['pairs', { chosen: 'a', rejected: 'b' }, /prompt is missing/],
  ['pairs', { prompt: 'Hi', chosen: '<think>so', rejected: 'b' }, /answer is blank/],
  [
    'pairs',
    {
      chosen: [user, said],
      rejected: [
        { ...user, content: 'Bye' },
        { ...said, content: 'b' },
      ],
    },
    /different prompts/,
  ],
  ['pairs', { chosen: [user], rejected: [user] }, /does not end with a turn of the assistant/],
  ['chat', { messages: [said] }, /no user turn/],
  ['chat', { conversations: [{ from: 'human', value: 'Hi' }] }, /does not end with a turn/],
  ['chat', { text: 'Hi' }, /conversations is missing/],
  ['npg-muse', { ...graph, exact_answer: 'many' }, /exact_answer/],
  ['npg-muse', { ...graph, graph: { nodes: [] } }, /cannot be graded/],
  ['npg-muse', { ...graph, solution: ['Person A0'] }, /the right answer earns/],
  ['npg-muse', { ...graph, task: 'Sorting' }, /rejects the row/],
  ['npg-muse', { ...graph, difficulty: 'easy_gold' }, /not a reward type/],
]

/** A Python list of calls, with each call's name and arguments as JSON. undefined: not a list of calls. */
export const pythonSources: readonly (readonly [string, readonly string[] | undefined])[] = [
  ['[]', []],
  ['[f()]', ['f {}']],
  [
    "[a.b_1(1, 'x', key=2.50), tools['find'](q=\"it's\")]",
    ['a.b_1 {"arg_0": 1, "arg_1": "x", "key": 2.50}', 'tools[\'find\'] {"q": "it\'s"}'],
  ],
  ['[f(True, False, None)]', ['f {"arg_0": true, "arg_1": false, "arg_2": null}']],
  [
    '[f(x=12345678901234567890, y=-0x1F, z=.5, w=1_000, v=3., u=1e5)]',
    ['f {"x": 12345678901234567890, "y": -31, "z": 0.5, "w": 1000, "v": 3.0, "u": 1e5}'],
  ],
  [
    "[f([1, [2,],], ('a', 'b'), ('c'), {'k': {1: 2}})]",
    ['f {"arg_0": [1, [2]], "arg_1": ["a", "b"], "arg_2": "c", "arg_3": {"k": {"1": 2}}}'],
  ],
  ["[f('a' \"b\", '\\n\\x41\\u4e2d\\d')]", ['f {"arg_0": "ab", "arg_1": "\\nA中\\\\d"}']],
  ['[f(g(1, "a)"), x=a + [b], y=~1)]', ['f {"arg_0": "g(1, \\"a)\\")", "x": "a + [b]", "y": "~1"}']],
  ['[f(1, 1==2)]', ['f {"arg_0": 1, "arg_1": "1==2"}']],
  ['[f(__proto__=1)]', ['f {"__proto__": 1}']],
  ['[1, 2]', undefined],
  ['[f(1]', undefined],
  ['[f(1)] x', undefined],
  ["[f('a)]", undefined],
  ['f(1)', undefined],
]

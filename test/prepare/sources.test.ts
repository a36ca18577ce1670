import t from 'tap'
import { solve } from '../../src/prepare/countdown-solver.ts'
import { pythonCalls, pythonLiteral } from '../../src/prepare/python-source.ts'
import { messagesOfTurns } from '../../src/prepare/tool-turns.ts'

t.test('calls in Python become JSON, with every literal kept exactly', async (t) => {
  const one = (text: string) =>
    pythonCalls(text)?.map(({ name, argumentsText }) => `${name} ${argumentsText}`)
  const cases: readonly (readonly [string, readonly string[] | undefined])[] = [
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
  for (const [text, calls] of cases) t.strictSame(one(text), calls, text)
  t.equal(pythonLiteral("[{'a': 01}]"), null)
  t.equal(pythonLiteral(`${'['.repeat(5000)}${']'.repeat(5000)}`), null)
})

t.test(
  'a conversation becomes messages: tools in the system turn, results in user turns, errors without their trace',
  async (t) => {
    const messages = messagesOfTurns({
      0: { role: 'system', tools: '{"name": "f"}' },
      1: { role: 'user', content: 'go' },
      2: { role: 'assistant', content: '<think>a</think>b</think> [f(1)]' },
      3: {
        role: 'tool',
        content: "[{'f': 'Function call f(1) failed. Oh. Error: no disk Stack trace: x y'}, {'f': 3}]",
      },
      4: null,
      10: { role: 'assistant', content: 'Well.' },
    })
    t.strictSame(
      messages.map(({ role }) => role),
      ['system', 'user', 'assistant', 'user', 'assistant'],
    )
    t.match(messages[0]?.content, '<tools>\n{"name":"f"}\n</tools>')
    t.equal(messages[2]?.content, '<tool_call>\n{"name": "f", "arguments": {"arg_0": 1}}\n</tool_call>')
    t.equal(
      messages[3]?.content,
      '<tool_response>\n{"error":"no disk"}\n</tool_response>\n<tool_response>\n3\n</tool_response>',
    )
    t.throws(() => messagesOfTurns({ 0: { tools: '{' } }), /no JSON/)
    t.throws(() => messagesOfTurns({ 1: { role: 'judge', content: 'x' } }), /unknown role/)
  },
)

t.test('the solver finds an expression wherever there is one', async (t) => {
  t.equal(solve(24, [3, 3, 8, 8]), '(8 / (3 - (8 / 3)))')
  t.equal(solve(7, [7]), '7')
  t.equal(solve(5, [1, 1]), null)
  t.equal(solve(0, [0, 0]), '(0 + 0)')
  t.equal(solve(999_983, [1, 2, 3, 4, 5, 6, 7, 8]), 'unknown')
})

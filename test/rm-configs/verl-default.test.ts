import { join } from 'node:path'
import t from 'tap'
import { openGateway } from '../../src/gateway/gateway.ts'
import { startSimulatedServer } from '../../src/simulate/server.ts'
import { runCommand } from '../support/command-line.ts'

const config = (name: string): string => join('rm-configs', name)

t.test("each of verl's data sources is scored by its rule, other sources by none", async (t) => {
  const rows: [string, string, unknown, number | null, string?][] = [
    ['openai/gsm8k', 'So\n#### 42', '42', 1, 'gsm8k'],
    ['lighteval/MATH', '\\boxed{\\frac12}', '1/2', 1, 'math'],
    ['HuggingFaceH4/MATH-500', '\\boxed{2}', '1/2', 0, 'math'],
    ['math', 'Answer: 7', '7', 1, 'dapo'],
    ['aime_2025', 'Answer: 8', '7', -1, 'dapo'],
    ['numina_olympiads', 'The answer is \\boxed{0.5}', '\\frac{1}{2}', 1, 'prime'],
    ['hiyouga/geometry3k', '<think>By Thales.</think>\\boxed{5}', '5', 1, 'geometry'],
    ['searchR1_nq', '<answer>Paris</answer>', { target: ['Paris'] }, 1, 'search'],
    ['codeforces', 'print(1)', '1', null],
    ['', 'x', 'x', null],
  ]
  const lines = rows.map(([data_source, response, ground_truth]) =>
    JSON.stringify({ data_source, response, ground_truth }),
  )
  const args = ['score', '--config', config('verl-default.yaml'), '--input', '-', '--output', '-']
  const { code, stdout } = await runCommand(args, { stdin: lines.join('\n') })
  t.equal(code, 0)
  for (const [i, line] of stdout.trim().split('\n').entries()) {
    const result = JSON.parse(line)
    const [source, , , reward, step] = rows[i] ?? []
    t.equal(result.reward, reward, `${source}`)
    if (step) t.equal(result.terms[step].status, 'scored', step)
    else t.equal(result.failure.kind, 'bad_sample', `${source}: no rule`)
  }
})

t.test('the likeness to the wanted reply is added where the rule is satisfied', async (t) => {
  const server = await startSimulatedServer({ model: 'embedder' })
  t.teardown(() => server.close())
  const gateway = await openGateway({
    configs: [config('rider-similarity.yaml')],
    functionFolders: [],
    env: { EMBEDDER_0: server.url },
  })
  t.teardown(() => gateway.close(0))
  const target = {
    Thought: '餐已送回，通过。',
    RelevantConstraintRuleNumber: [],
    RelevantKnowledgeNumber: [],
    Response: '客服:申诉通过。',
    ResponseSolution: '申诉通过',
    DialogueAgreeSolution: '是',
  }
  const sample = (id: string, reply: object) => ({
    id,
    prompt: '',
    response: JSON.stringify({ ...target, ...reply }),
    groundTruth: JSON.stringify(target),
    rmPrompts: {},
    extraInfo: {},
  })
  const rows = [sample('same', {}), sample('other', { ResponseSolution: '无' })]
  const { outcomes } = await gateway.score({
    reward: 'rider-similarity',
    rows,
    signal: new AbortController().signal,
  })
  t.match(outcomes, [
    { id: 'same', valid: true, reward: 1.5 },
    { id: 'other', valid: true, reward: 0.1 },
  ])
  t.equal(server.stats().requests['/v1/embeddings'], 1, 'a closed gate asks nothing')
})

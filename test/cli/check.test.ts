import { PassThrough } from 'node:stream'
import t from 'tap'
import { command } from '../../src/cli/check.ts'
import { GatewayError } from '../../src/errors.ts'

/** Runs the command; its text, its exit code or the error that it ended with. */
async function check(argv: readonly string[], env: Record<string, string> = {}) {
  const stdout = new PassThrough()
  const { signal } = new AbortController()
  const io = { stdin: new PassThrough(), stdout, stderr: new PassThrough(), env, signal }
  const code = await command.run(argv, io).catch((error: unknown) => error)
  return { code, text: String(stdout.read() ?? '') }
}

const judges = {
  'loose-judge.mjs': `import { z } from 'zod'
import { defineModelReward } from 'reward-gateway/contract'
export default defineModelReward({
  ask: 'generate', truth: z.unknown(), range: [0, 1],
  rm_preprocess: ({ sample }) => 'Is this right? ' + sample.response,
  rm_postprocess: ({ text }) => Number(text),
})
`,
  'blind-judge.mjs': `import { z } from 'zod'
import { chat, defineModelReward, prompt } from 'reward-gateway/contract'
export default defineModelReward({
  ask: 'generate', truth: z.unknown(), range: [0, 1],
  rm_preprocess: ({ sample }) => chat({ role: 'user', content: prompt\`Easy? \${String(sample.prompt)}\` }),
  rm_postprocess: ({ text }) => Number(text),
})
`,
  'field-judge.mjs': `import { z } from 'zod'
import { defineModelReward, prompt } from 'reward-gateway/contract'
export default defineModelReward({
  ask: 'choose', truth: z.unknown(), range: [0, 1],
  rm_preprocess: ({ sample }) => ({ question: prompt\`Kind? \${JSON.parse(sample.response).reply}\`, labels: ['a', 'b'] }),
  rm_postprocess: (answer) => answer.a,
})
`,
  'critic.mjs': `import { z } from 'zod'
import { defineModelReward, prompt } from 'reward-gateway/contract'
export default defineModelReward({
  ask: 'generate', truth: z.unknown(), range: [0, 1],
  rm_preprocess: ({ sample }) => prompt\`Criticise: \${sample.response}\`,
})
`,
  'best-of.mjs': `import { z } from 'zod'
import { defineGroupRule } from 'reward-gateway/contract'
export default defineGroupRule({ truth: z.unknown(), range: [0, 1], score: (rows) => rows.map(() => 1) })
`,
}

const gateway = `models:
  judge: { model: m, instances: ['\${JUDGE:-http://127.0.0.1:8101}', { url: 'http://127.0.0.1:8102', weight: 2 }] }
  other: { model: n, backend: openai, allow: ['http://other-*:8000'] }
`

const reward = `description: everything at once
gate: rule >= 0.8
on_unreadable: skip
on_invalid: { group_mean: 0 }
deadline_s: 60
steps:
  - { name: rule, function: gsm8k-progressive }
  - { name: loose, function: loose-judge, model: [judge, other], weight: 0.5, votes: { n: 2, aggregate: median } }
  - { name: critique, function: critic, model: judge }
  - { name: blind, function: blind-judge, model: judge, after: critique, op: mul, when: rule == 1, on_unreadable: 0.5 }
  - name: field
    function: field-judge
    model: judge
    data_source: ['chat/*', '!chat/x']
    on_unreadable: fail
    weight: { points: [[0, 0], [100, 1]], without_step: 0.25 }
  - { name: best, function: best-of }
`

t.test('check says in plain words what a config would do, and where a judge is unguarded', async (t) => {
  const folder = t.testdir({
    functions: judges,
    configs: {
      'gateway.yaml': gateway,
      'demo.yaml': reward,
      'plain.json': '{"steps":[{"name":"r","function":"countdown"}]}',
    },
    'rows.jsonl': `${JSON.stringify({ prompt: 'p', response: '{"reply": "hello", "n": [1, "x"]}' })}\n`,
  })
  const { code, text } = await check([
    `${folder}/configs`,
    '--reward-functions',
    `${folder}/functions`,
    '--input',
    `${folder}/rows.jsonl`,
  ])
  t.equal(code, 0)
  t.matchSnapshot(text.replaceAll(/version [0-9a-f]{16}/g, 'version <hash>'))
})

t.test('check sends two answers through a judge of groups', async (t) => {
  const steps = ['pairwise-judge', 'listwise-judge', 'loose-duel'].map((name) => ({
    name,
    function: name,
    model: 'judge',
  }))
  const folder = t.testdir({
    functions: {
      'loose-duel.mjs': `import { z } from 'zod'
import { definePairReward } from 'reward-gateway/contract'
export default definePairReward({
  ask: 'generate', truth: z.unknown(), range: [0, 1],
  rm_preprocess: (a, b) => a.sample.response + ' or ' + b.sample.response,
  rm_postprocess: ({ text }) => Number(text),
})
`,
    },
    configs: { 'gateway.yaml': gateway, 'groups.json': JSON.stringify({ steps }) },
    'rows.jsonl': '{"prompt": "p", "response": "hello"}\n',
  })
  const { code, text } = await check([
    `${folder}/configs`,
    '--reward-functions',
    `${folder}/functions`,
    '--input',
    `${folder}/rows.jsonl`,
  ])
  t.equal(code, 0)
  const warnings = text
    .split('\n')
    .filter((line) => line.includes('stands outside') || line.includes('no question'))
  t.equal(warnings.length, 1, text)
  t.match(warnings[0], /loose-duel/)
})

t.test('check ends with every mistake and its place', async (t) => {
  const folder = t.testdir({
    'gateway.yaml': gateway,
    'bad.yaml': 'steps:\n  - { name: rule, function: gsm8k-progresive, wieght: 1 }\nformula: ruel\n',
  })
  const { code } = await check([`${folder}/bad.yaml`])
  t.ok(code instanceof GatewayError)
  t.match(code, {
    code: 'RG_CONFIG_INVALID',
    problems: [
      { path: `${folder}/bad.yaml:2:29: steps[0].function`, message: /did you mean 'gsm8k-progressive'/ },
      { path: `${folder}/bad.yaml:2:47: steps[0].wieght`, message: /did you mean 'weight'/ },
      { path: `${folder}/bad.yaml:3:10: formula`, message: /did you mean 'rule'/ },
    ],
  })
})

t.test('check tells of arguments, files and rows that it cannot use', async (t) => {
  const folder = t.testdir({
    empty: {},
    'one.yaml': 'steps: [{ name: r, function: countdown }]\n',
    'text.jsonl': 'no json\n',
    'row.jsonl': '{"response": 1}\n',
    wired: { 'gateway.yaml': 'wires: { slime: { truths: none.jsonl } }\n' },
  })
  const one = `${folder}/one.yaml`
  t.match((await check([])).code, { code: 'RG_COMMAND_INVALID' })
  t.match((await check([`${folder}/wired`])).code, {
    code: 'RG_CONFIG_INVALID',
    problems: [{ path: /none.jsonl$/, message: /cannot be read/ }],
  })
  t.match((await check([one, '--wrong'])).code, { code: 'RG_COMMAND_INVALID' })
  t.match((await check([`${folder}/empty`, `${folder}/none.yaml`])).code, {
    code: 'RG_CONFIG_INVALID',
    problems: [{ message: /holds no/ }, { message: 'does not exist' }],
  })
  for (const file of ['none', 'text', 'row']) {
    t.match(
      (await check([one, '--input', `${folder}/${file}.jsonl`])).code,
      { code: 'RG_INPUT_INVALID' },
      file,
    )
  }
})

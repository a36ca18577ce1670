import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import t from 'tap'
import { command } from '../../src/cli/rewards/check.ts'
import { GatewayError } from '../../src/core/errors.ts'
import { trainerFormats } from '../../src/trainers/index.ts'
import { knownTrainers } from '../../src/trainers/sent.ts'
import { runCommand } from '../support/command-line.ts'
import { withoutPython } from '../support/python.ts'
import { simulated } from '../support/simulated.ts'
import { sources } from '../support/training-sources.ts'

/** Runs the command and returns its text, and its exit code or error. */
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

t.test('check explains a config in plain words, and warns about an unguarded judge', async (t) => {
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

/** A judge that turns its prompt into text, and one that marks steps within a value. */
const careless = {
  'careless.mjs': `import { z } from 'zod'
import { defineModelReward } from 'reward-gateway/contract'
export default defineModelReward({
  ask: 'generate', truth: z.unknown(), range: [0, 1],
  rm_preprocess: ({ sample }) => 'Question: ' + sample.prompt + ' Answer: ' + sample.response,
  rm_postprocess: ({ text }) => Number(text),
})
`,
  'tagged.mjs': `import { z } from 'zod'
import { defineModelReward, prompt } from 'reward-gateway/contract'
export default defineModelReward({
  ask: 'generate', truth: z.unknown(), range: [0, 1],
  rm_preprocess: ({ sample }) => prompt\`Question: \${String(sample.prompt)} Answer: \${sample.response}\`,
  rm_postprocess: ({ text }) => Number(text),
})
`,
  'process.mjs': `import { z } from 'zod'
import { defineModelReward, prompt } from 'reward-gateway/contract'
export default defineModelReward({
  ask: 'rewards', truth: z.unknown(), range: [0, 1],
  rm_preprocess: ({ sample }) => prompt\`\${sample.response}\`,
  rm_postprocess: (values) => Math.min(...values),
})
`,
}

t.test('check warns about a judge that cannot handle a prompt of messages (M11)', async (t) => {
  const configs = Object.fromEntries(
    ['careless', 'tagged', 'process', 'scalar-score', 'yes-no-judge', 'pairwise-judge'].map((name) => [
      `${name}.json`,
      JSON.stringify({ steps: [{ name: 'q', function: name, model: 'judge' }] }),
    ]),
  )
  const rows = [
    {
      prompt: [{ role: 'user', content: 'What is 2 + 2?' }],
      ground_truth: '4',
      extra_info: { answer: 'It is 4.' },
    },
    {
      prompt: [{ role: 'user', content: 'What is 3 + 2?' }],
      ground_truth: '5',
      extra_info: { answer: 'It is 5.' },
    },
  ]
  const folder = t.testdir({
    functions: careless,
    configs: { 'gateway.yaml': gateway, ...configs },
    'rows.jsonl': rows.map((row) => JSON.stringify(row)).join('\n'),
  })
  const own = ['--reward-functions', `${folder}/functions`]
  const { code, text } = await check([`${folder}/configs`, ...own])
  t.equal(code, 0)
  const warnings = text.split('\n').filter((line) => line.startsWith('warning: '))
  t.match(warnings, [/careless.*outside a guarded value/, /tagged.*a list of messages .*lastUserText/], text)
  t.equal(warnings.length, 2, 'none of a function that ships (M13)')
  const found = async (reward: string) =>
    (await check([`${folder}/configs`, ...own, '--data', `${folder}/rows.jsonl`, '--reward', reward])).text
  for (const name of ['careless', 'tagged']) {
    const report = await found(name)
    t.match(report, /failing-question/, name)
    t.match(report, /list of messages/, name)
    t.notMatch(report, /\[object/, name)
  }
  t.match(await found('process'), /undeclared-steps/)
})

t.test('check names the limit of the API that a decision exceeds', async (t) => {
  const choice = Array.from({ length: 27 }, (_, score) => ({ name: `option ${score}`, score }))
  const step = { name: 's', function: 'decision-judge', model: 'decider', options: { choice } }
  const models = { decider: { model: 'm', instances: ['http://127.0.0.1:9'], decide: { wire: 'vllm' } } }
  const folder = t.testdir({ 'it.json': JSON.stringify({ models, steps: [step] }) })
  const { text } = await check([`${folder}/it.json`])
  t.match(text, 'decider: decide.wire vllm takes 26 options, and the question has 27')
})

t.test('check tests a group judge with two answers', async (t) => {
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
    .filter((line) => line.includes('outside a guarded value') || line.includes('no question'))
  t.equal(warnings.length, 1, text)
  t.match(warnings[0], /loose-duel/)
})

t.test('check lists every mistake with its place', async (t) => {
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

t.test('check names arguments, files and rows that it cannot use', async (t) => {
  const folder = t.testdir({
    empty: {},
    'one.yaml': 'steps: [{ name: r, function: countdown }]\n',
    'text.jsonl': 'no json\n',
    'row.jsonl': '{"response": 1}\n',
    wired: { 'gateway.yaml': 'trainers: { slime: { ground_truth_file: none.jsonl } }\n' },
  })
  const one = `${folder}/one.yaml`
  t.match((await check([])).code, { code: 'RG_COMMAND_INVALID' })
  t.match((await check([`${folder}/wired`])).code, {
    code: 'RG_CONFIG_INVALID',
    problems: [{ path: /none.jsonl$/, message: 'does not exist' }],
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

const judgeA = { model: 'judge-a' }

t.test('check --data', async (t) => {
  const folder = t.testdir()
  const at = (name: string): string => join(folder, name)
  writeFileSync(at('source.json'), JSON.stringify(sources.rider?.(20)))
  const made = await runCommand([
    ...['prepare', 'rider', at('source.json'), '--output', at('data'), '--files', 'both'],
  ])
  t.equal(made.code, 0)
  const [a, b] = [await simulated(t, judgeA), await simulated(t, { model: 'judge-b' })]
  const env = { JUDGE_A_0: a.url, JUDGE_A_1: a.url, JUDGE_B_0: b.url }
  const configs = ['rm-configs/rider.yaml', 'rm-configs/gateway.yaml']
  const checkData = (...argv: string[]) => runCommand(['check', ...configs, '--data', ...argv], { env })

  t.test('finds nothing wrong with prepared data, and shows what judges would be asked', async (t) => {
    const { code, stdout } = await checkData(at('data/train.parquet'), '--strict')
    t.equal(code, 0, stdout)
    t.match(stdout, /row 3, step consistency: what judge-b would be asked\n\[user\]\n请比较/)
    t.match(stdout, /rider +1 +20\n/)
    t.match(stdout, /20 rows of .* for rider: 0 errors, 0 warnings, 0 notes\n$/)
  })

  t.test('exits with 1 for an error in the data, and names its rows', async (t) => {
    const row = { prompt: 'Hi?', data_source: 'rider', reward_model: { ground_truth: 'no JSON' } }
    writeFileSync(at('bad.jsonl'), `${JSON.stringify(row)}\n${JSON.stringify(row)}\n`)
    const { code, stdout } = await checkData(at('bad.jsonl'), '--format', 'json')
    t.equal(code, 1)
    t.match(JSON.parse(stdout), {
      reward: 'rider',
      rows: 2,
      findings: [
        { name: 'refused-truth', severity: 'error', rows: ['1', '2'], count: 2 },
        { name: 'repeated-row', severity: 'warning', rows: ['2'] },
      ],
    })
  })

  t.test('warns about a row of two files, which is an error with --strict', async (t) => {
    const [parquet, jsonl] = [at('data/train.parquet'), at('data/train.jsonl')]
    const twice = await checkData(parquet, '--data', jsonl, '--rows', '3')
    t.equal(twice.code, 0)
    t.match(twice.stdout, /warning repeated-row: .* \(3 rows: train.jsonl:1, train.jsonl:2, train.jsonl:3\)/)
    t.equal((await checkData(jsonl, '--data', jsonl, '--rows', '3', '--strict')).code, 1)
  })
})

t.test('check --policy reports what the policy earns, and names wrong arguments', async (t) => {
  const folder = t.testdir()
  const file = join(folder, 'rows.jsonl')
  const prompt = 'What is 6 * 7?'
  const row = { prompt: [{ role: 'user', content: prompt }], data_source: 'x', ground_truth: '42' }
  writeFileSync(file, JSON.stringify(row))
  const policy = await simulated(t, {
    policy: 'solver',
    answers: { [prompt]: '42' },
    model: 'small',
    successRate: 0.5,
  })
  const argv = ['check', 'rm-configs/gsm8k.yaml', '--data', file]
  const probed = await runCommand([
    ...argv,
    '--policy',
    `${policy.url}/v1`,
    '--answers',
    '16',
    '--format',
    'json',
  ])
  t.equal(probed.code, 0, probed.stderr)
  t.match(JSON.parse(probed.stdout), { probe: { verdict: 'good', prompts: 1, answers: 16 } })
  const cases: readonly (readonly [readonly string[], number, RegExp])[] = [
    [['check', 'rm-configs/gsm8k.yaml', '--policy', policy.url], 2, /--policy needs --data/],
    [['check', 'rm-configs', '--data', file], 2, /choose one with --reward/],
    [['check', 'rm-configs', '--data', file, '--reward', 'gsm8'], 2, /did you mean 'gsm8k'/],
    [[...argv, '--format', 'xml'], 2, /text, json/],
    [[...argv, '--policy', 'here'], 2, /must be the http:\/\/ or https/],
    [
      ['check', 'rm-configs/gsm8k.yaml', '--data', join(folder, 'none.jsonl')],
      2,
      /none.jsonl: does not exist/,
    ],
  ]
  for (const [argv, code, message] of cases) {
    const ran = await runCommand(argv)
    t.equal(ran.code, code, argv.join(' '))
    t.match(ran.stderr, message)
  }
})

t.test('check warns about a Python function without a range (M39)', { skip: withoutPython }, async (t) => {
  const folder = t.testdir({
    fns: { 'cite.py': 'def compute_score(solution_str):\n    return 1\n' },
    'open.yaml': 'steps:\n  - { name: r, function: cite }\n',
    'bounded.yaml': 'steps:\n  - { name: r, function: cite, options: { range: [0, 1] } }\n',
  })
  const { text, code } = await check([folder, '--reward-functions', join(folder, 'fns')])
  t.equal(code, 0)
  t.match(
    text,
    /warning: open, step r \(cite\): no range is declared, .*write `range: \[low, high\]` into its options/,
  )
  t.notMatch(text, /warning: bounded/)
})

t.test('--trainer warns about what a trainer does not send and a reward needs', async (t) => {
  const whole = `import { z } from 'zod'
import { defineModelReward, prompt, transcript } from 'reward-gateway/contract'
export default defineModelReward({
  ask: 'generate', truth: z.unknown(), range: [0, 1],
  rm_preprocess: ({ sample }) => prompt\`Was it careful? \${transcript(sample)}\`,
  rm_postprocess: ({ text }) => Number(text),
})
`
  const folder = t.testdir({
    'gateway.yaml': gateway,
    'judged.yaml':
      'steps: [{ name: rule, function: numeric-match }, { name: q, function: yes-no-judge, model: judge }, { name: w, function: whole, model: judge }]\n',
    'ranked.yaml': 'steps: [{ name: best, function: best-of }]\n',
    functions: { ...judges, 'whole.mjs': whole },
  })
  const trainers = ['open-instruct', 'azure', 'nemo-gym'].flatMap((name) => ['--trainer', name])
  const argv = [folder, '--reward-functions', join(folder, 'functions'), ...trainers]
  const said = async (...more: string[]) => (await check([...argv, ...more])).text.split('\n')
  const plain = await said()
  const about = (trainer: string, lines = plain) =>
    lines.filter((line) => line.startsWith('warning: ') && line.includes(trainer))
  t.match(about('open-instruct').sort(), [
    /^warning: judged, step q \(yes-no-judge\): asks about the prompt, and open-instruct sends none; let/,
    /^warning: judged: a sample without a reward trains as 0 in open-instruct, because it takes each error for 0; choose/,
    /^warning: ranked, step best: compares the answers of a group, but open-instruct sends each answer alone/,
    /^warning: ranked: a sample without a reward trains as 0 in open-instruct/,
  ])
  t.match(about('azure').sort(), [
    /^warning: judged, step q \(yes-no-judge\): asks about the prompt, and azure sends none if the item/,
    /^warning: judged, step q \(yes-no-judge\): does not show what tools answered/,
    /^warning: ranked, step best: compares/,
  ])
  t.match(about('nemo-gym'), [/^warning: judged, step q .* does not show/])
  const [one, several] = [['4'], ['I add.', '4']].map((texts, at) => {
    const file = join(folder, `${at}.jsonl`)
    const response = texts.map((content) => ({ role: 'assistant', content }))
    writeFileSync(file, JSON.stringify({ prompt: '2 + 2?', response, ground_truth: '4' }))
    return file
  }) as [string, string]
  t.strictSame(about('nemo-gym', await said('--input', one)), about('nemo-gym'))
  t.match(about('nemo-gym', await said('--input', several)), [
    /^warning: judged, step q .* does not show/,
    /^warning: judged: nemo-gym sends all turns, and rules read the text of the assistant's last one/,
    /^warning: ranked: nemo-gym sends all turns/,
  ])
  t.match(await runCommand(['check', folder, '--trainer', 'open-instrukt']), {
    code: 2,
    stderr: /did you mean 'open-instruct'/,
  })
  const names = new Set<string>(knownTrainers)
  for (const { name } of trainerFormats) t.ok(names.has(name), `${name} is known`)
})

t.test('--trainer warns about each reward that a trainer would turn into a number of its own', async (t) => {
  const folder = t.testdir({
    'gateway.yaml': `${gateway}trainers: { axolotl: { on_invalid: 0 } }\n`,
    'below.yaml': 'on_invalid: -0.5\nsteps: [{ name: rule, function: numeric-match, weight: -1 }]\n',
    'fails.yaml': 'on_invalid: fail\nsteps: [{ name: rule, function: numeric-match }]\n',
    'formula.yaml': 'on_invalid: 0\nsteps: [{ name: rule, function: numeric-match }]\nformula: rule - 1\n',
    'seen.yaml': 'on_invalid: 0\nsteps: [{ name: q, function: yes-no-judge, model: judge }]\n',
    'text.yaml':
      'on_invalid: 0\nsteps: [{ name: q, function: yes-no-judge, model: judge, ignore: [image] }]\n',
  })
  const warned = async (trainer: string, about = /trains? (as|with) 0|makes 0|images/) => {
    const { text } = await check([folder, '--trainer', trainer])
    const lines = text.split('\n').filter((line) => line.startsWith('warning: ') && about.test(line))
    return lines.map((line) => line.slice('warning: '.length)).sort()
  }
  t.match(await warned('open-instruct'), [
    /^below: its rewards go down to -1, and open-instruct makes 0 of what is below/,
    /^below: on_invalid is -0.5, and open-instruct makes 0 of it/,
    /^fails: a sample without a reward trains as 0 in open-instruct/,
    /^formula: open-instruct makes 0 of what its formula gives below 0/,
  ])
  t.match(await warned('eval-protocol'), [/^fails: .* because its get_trl_adapter takes each error for 0/])
  t.same(await warned('axolotl'), [], 'gateway.yaml chooses the number')
  t.match(await warned('skyrl'), [
    /^seen, step q \(yes-no-judge\): shows the prompt's images, and skyrl sends none, so/,
  ])
  t.match(await warned('verl'), [/sends none to a function \(its reward manager sends them\), so a prompt/])
  t.match(await warned('areal'), [
    /^seen: asks a judge, and AReaL's own workflows train with 0/,
    /^text: asks a judge/,
  ])
  t.same(await warned('trl'), [])
})

t.test('rubric judges are checked and asked without rows of the user', async (t) => {
  const { url } = await simulated(t, { model: 'm', policy: 'arithmetic' })
  const folder = t.testdir({
    'gateway.yaml': `models: { judge: { model: m, instances: ["${url}"], decide: { wire: vllm } } }\n`,
    ...Object.fromEntries(
      ['rubric-judge', 'rubric-judge-group', 'rubric-decisions'].map((name) => [
        `${name}.yaml`,
        `steps: [{ name: r, function: ${name}, model: judge }]\n`,
      ]),
    ),
  })
  const { code, text } = await check([folder, '--connect'])
  t.equal(code, 0, text)
  t.notMatch(text, /warning/)
  for (const name of ['rubric-judge', 'rubric-decisions'])
    t.match(text, new RegExp(`answers the question of ${name}, step r with `))
})

t.test('a rubric scores each sample alone, so its explanation does not ask for whole groups', async (t) => {
  const folder = t.testdir({
    'gateway.yaml': 'models: { judge: { model: judge, instances: [http://127.0.0.1:1] } }\n',
    'alone.yaml': 'steps: [{ name: r, function: rubric-judge, model: judge }]\n',
    'compared.yaml': 'steps: [{ name: r, function: rubric-judge-group, model: judge }]\n',
  })
  const alone = await check([join(folder, 'alone.yaml')])
  t.equal(alone.code, 0)
  t.notMatch(alone.text, 'must come in one request')
  const compared = await check([join(folder, 'compared.yaml')])
  t.match(compared.text, 'All answers to a prompt must come in one request.')
})

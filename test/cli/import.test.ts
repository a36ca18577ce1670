import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { runCommand } from '../support/command-line.ts'
import { testGateway } from '../support/gateway.ts'

const script = `#!/bin/bash
set -x
MODELS=/models   # where they lie
RM_A="$MODELS/Qwen2.5 7B"
python3 -m verl.trainer.main_ppo \\
    data.train_files=rider.parquet \\
    reward_model.enable=True \\
    reward_model.combine_reward=True reward_model.reward_model_type=grm \\
    'reward_model.reward_function=[rider_reward,consistency_reward,my_judge]' \\
    reward_model.reward_weight=[0.3,1,0.1] \\
    "reward_model.reward_combine_func=[add,mul,add]" \\
    +reward_model.use_bge=True +reward_model.bge_weight=0.25 \\
    reward_model.model.path=["$RM_A",\${RM_B},/other/Qwen2.5-7B] \\
    reward_model.model.input_tokenizer=/models/policy \\
    reward_model.reward_vllm_rollout.temperature=[0.7,0.7,0] \\
    reward_model.reward_vllm_rollout.top_p=0.95 reward_model.reward_vllm_rollout.top_k=-1 \\
    reward_model.reward_vllm_rollout.rollout_response_length=4096 \\
    reward_model.reward_vllm_rollout.gpu_memory_utilization=[0.4,0.4,0.4] "$@"
`
const cloud = `reward_model:
  reward_model_type: cloud
  reward_weight: [1, 0.5]
  model: { path: [/models/a, /models/b] }
  unheard_of: { depth: 3 }
`
const grader = {
  type: 'multi',
  name: 'all',
  graders: {
    'exact-match': {
      type: 'string_check',
      name: 'x',
      input: '{{sample.output_json.answer}}',
      reference: '{{item.answer}}',
      operation: 'eq',
    },
    near: {
      type: 'text_similarity',
      name: 'y',
      input: '{{ sample.output_text }}',
      reference: '{{item.reference}}',
      evaluation_metric: 'rouge_l',
    },
    reward: {
      type: 'multi',
      name: 'judges',
      graders: {
        min: {
          type: 'score_model',
          name: 's',
          model: 'gpt-4o',
          range: [0, 5],
          input: [
            {
              role: 'user',
              content: [{ type: 'input_text', text: 'Grade {{sample.output_text}} for {{item.question}}' }],
            },
          ],
          sampling_params: { temperature: 0, seed: 7, max_completions_tokens: 256, reasoning_effort: 'low' },
        },
        ok: {
          type: 'label_model',
          name: 'l',
          model: 'gpt-4o',
          input: [{ role: 'user', content: 'Good? {{sample.output_text}}' }],
          labels: ['good', 'bad'],
          passing_labels: ['good'],
        },
      },
      calculate_output: 'min / 5 + ok',
    },
    code: {
      type: 'python',
      name: 'p',
      source: 'def grade(sample, item):\n    return float(len(sample["output_text"]) == item["length"])\n',
    },
  },
  calculate_output: '0.5 * exact-match^2 + max(near, 0) * 0.2 + reward + code',
}

const run = (...argv: string[]) => runCommand(argv, { env: { RM_B: '/models/b', OPENAI_API_KEY: 'key' } })

t.test('import writes', async (t) => {
  const folder = t.testdir({
    'rider.sh': script,
    'cloud.yaml': cloud,
    'grader.json': JSON.stringify(grader),
    'reward-functions': {
      'my_judge.py':
        'def rm_preprocess(text_prompts, text_responses, tgt_tokenizer):\n    return text_responses\n\n\ndef rm_postprocess(results):\n    return [1.0 for _ in results]\n',
    },
  })
  const output = join(folder, 'configs')
  const importing = (kind: string, name: string, ...more: string[]) =>
    run('import', kind, join(folder, name), '--output', output, ...more)

  await t.test('the steps of a training script, and says what to do and what is left out', async (t) => {
    const made = await importing('verl-config', 'rider.sh')
    t.equal(made.code, 0, made.stderr)
    for (const line of [
      /note: the rule is rider-rule/,
      /note: set QWEN2_5_7B_URL to the address of a server of \/models\/Qwen2.5 7B/,
      /column rm_prompt_0 is the judge prompt of step quality/,
      /my_judge is a plug-in of your own/,
      /not carried over: reward_model.model.input_tokenizer: the gateway reads texts/,
      /not carried over: reward_model.reward_vllm_rollout.gpu_memory_utilization: the model server's own/,
    ])
      t.match(made.stdout, line)
    t.notMatch(made.stdout, /not carried over: reward_model.(?:enable|use_bge|reward_weight)/)
    const config = readFileSync(join(output, 'rider.yaml'), 'utf8')
    t.strictSame(
      config.match(/ {2}- name: \w+/g),
      ['rule', 'similarity', 'quality', 'consistency', 'my_judge'].map((name) => `  - name: ${name}`),
    )
  })

  await t.test('the settings of a YAML file, and names one that it does not know', async (t) => {
    const { stdout } = await importing('verl-config', 'cloud.yaml', '--published', '--rule', 'gsm8k-stock')
    t.match(stdout, /not carried over: reward_model.unheard_of.depth/)
  })

  await t.test('a grader, with the source of its Python function in a file', async (t) => {
    const graded = await importing('openai-grader', 'grader.json')
    t.equal(graded.code, 0, graded.stderr)
    for (const line of [
      /source of grader.graders.code is in reward-functions\/grader_code.py/,
      /sampling_params.reasoning_effort/,
      /gpt-4o is asked at api.openai.com/,
    ])
      t.match(graded.stdout, line)
    t.ok(existsSync(join(output, 'reward-functions/grader_code.py')))
  })

  await t.test('configs that pass check, which shows the formula of the grader', async (t) => {
    const folders = [join(folder, 'reward-functions'), join(output, 'reward-functions')]
    const checked = await run('check', output, ...folders.flatMap((one) => ['--reward-functions', one]))
    t.equal(checked.code, 0, checked.stderr)
    t.match(checked.stdout, /3 rewards and \d models are in order/)
    t.match(
      checked.stdout,
      /0\.5 \* exact_match\*\*2 \+ max\(near, 0\) \* 0\.2 \+ \(reward_min \/ 5 \+ reward_ok\) \+ code/,
    )
  })

  await t.test('no file over one that exists without --force', async (t) => {
    t.match(await importing('openai-grader', 'grader.json'), { code: 2, stderr: /--force replaces it/ })
  })
})

t.test('an imported grader scores with item and sample', async (t) => {
  const simple = {
    ...grader,
    graders: { exact: grader.graders['exact-match'], near: grader.graders.near, code: grader.graders.code },
    calculate_output: '0.5 * exact + 0.2 * near + code',
  }
  const folder = t.testdir({ 'grader.json': JSON.stringify({ reinforcement: { grader: simple } }) })
  t.equal(
    (await run('import', 'openai-grader', join(folder, 'grader.json'), '--output', folder, '--force')).code,
    0,
  )
  const gateway = await testGateway(
    t,
    {},
    { configs: [join(folder, 'grader.yaml')], functionFolders: [join(folder, 'reward-functions')] },
  )
  const sample = (response: string, extraInfo: Record<string, string | number>) => ({
    id: response,
    prompt: '',
    response,
    groundTruth: null,
    rmPrompts: {},
    extraInfo,
  })
  const rows = [
    sample('<think>42?</think>{"answer": "42"}', { answer: '42', reference: 'answer 42', length: 16 }),
    sample('{"answer": "41"}', { answer: '42', reference: 'answer 42', length: 1 }),
    sample('no JSON', { answer: '42', reference: 'other', length: 7 }),
    sample('{"answer": "42"}', { reference: 'answer 42', length: 7 }),
  ]
  const { outcomes } = await gateway.score({ reward: 'grader', rows, signal: new AbortController().signal })
  t.match(outcomes, [
    { valid: true, reward: 1.7 },
    { valid: true, reward: 0.1 },
    { valid: true, reward: 1 },
    { valid: false, failure: { kind: 'bad_sample', detail: /item.answer/ } },
  ])
})

t.test('import reports all mistakes at once, with their places', async (t) => {
  const folder = t.testdir({
    'lengths.yaml':
      'reward_model: { reward_function: [rider_reward, test_reward], reward_weight: [1], model: { path: a } }',
    'words.sh':
      'x reward_model.reward_function=rider_reward reward_model.reward_combine_func=sum reward_model.reward_weight=much reward_model.reward_model_type=bt',
    'flag.yaml': 'reward_model: { reward_function: rule, combine_reward: maybe, model: { path: a } }',
    'empty.sh': 'python train.py trainer.x=1',
    'proto.sh': 'x reward_model.__proto__.a=1',
    'grader.json': JSON.stringify({
      type: 'multi',
      graders: {
        a: { type: 'strin_check' },
        b: { type: 'text_similarity', input: 'x', reference: 'y', evaluation_metric: 'meteor' },
        c: 7,
      },
      calculate_output: 'a + bb + __import__("os")',
    }),
    'deep.json': `${'{"type":"multi","calculate_output":"a","graders":{"a":'.repeat(20)}1${'}}'.repeat(20)}`,
  })
  const cases: [string, string, RegExp[]][] = [
    ['verl-config', 'lengths.yaml', [/same length.*reward_function 2, reward_weight 1/]],
    [
      'verl-config',
      'words.sh',
      [
        /reward_model_type: must be/,
        /model.path: must be the path/,
        /'sum' is neither/,
        /much is not a number/,
      ],
    ],
    ['verl-config', 'flag.yaml', [/combine_reward: must be true or false/]],
    ['verl-config', 'empty.sh', [/has no reward_model settings/]],
    ['verl-config', 'proto.sh', [/this is not a valid setting name/]],
    [
      'openai-grader',
      'grader.json',
      [
        /did you mean 'string_check'/,
        /'meteor' is not supported/,
        /graders.c: must be a grader/,
        /no grader 'bb'/,
        /no grader '__import__'/,
      ],
    ],
    ['openai-grader', 'deep.json', [/nested deeper/]],
    ['openai-grader', 'none.json', [/none\.json: does not exist/]],
  ]
  for (const [source, file, messages] of cases) {
    const { code, stderr: err } = await run('import', source, join(folder, file), '--output', folder)
    t.equal(code, 2, `${file}: ${err}`)
    for (const message of messages) t.match(err, message, file)
  }
  t.match(await run('import', 'verl-confg', 'x'), { code: 2, stderr: /did you mean 'verl-config'/ })
  t.match(await run('import', 'verl-config'), { code: 2, stderr: /one FILE is needed/ })
})

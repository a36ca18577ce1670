import t from 'tap'
import { GatewayError } from '../../src/errors.ts'
import { readConfigs } from '../../src/plan/configs.ts'
import { resolvePlans } from '../../src/plan/resolve.ts'
import { openWith } from '../support/function-calls.ts'

const gateway = {
  file: 'gateway.yaml',
  text: `models:
  judge:
    model: m
    instances:
      - \${JUDGE:-http://127.0.0.1:8101}
  other:
    backend: vlm
    model: m
    instances: [nonsense]
listen: { port: "x", hots: a }
`,
}

const reward = {
  file: 'demo.yaml',
  text: `gate: rul == 1
steps:
  - name: rule
    function: gsm8k-progresive
    wieght: 1
  - { name: quality, function: yes-no-judge, model: jugde, weight: .nan }
  - { name: third, function: gsm8k-progressive, model: judge, options: { moed: reference, mode: x } }
  - name: third
    function: gsm8k-progressive
    when: quality > 0 and fourht > 1
    op: plus
    after: [fourth]
    weight: { points: [[1, 0], [0, 1]], without_step: 0 }
  - { name: fourth, function: tool-call, data_source: 1, votes: { n: 0 } }
formula: third + ninth
on_invalid: nul
`,
}

t.test('every mistake of every file is told in one go, with its place and the nearest name', async (t) => {
  const functions = await openWith([])
  t.teardown(() => functions.close())
  const error = await resolvePlans(readConfigs([gateway, reward], {}), functions).catch((error) => error)
  t.ok(error instanceof GatewayError)
  t.equal(error.code, 'RG_CONFIG_INVALID')
  const told = (error as GatewayError).problems.map(({ path, message }) => `${path} | ${message}`)
  t.strictSame(told, [
    "demo.yaml:1:7: gate | there is no step 'rul'; did you mean 'rule'?",
    "demo.yaml:4:15: steps[0].function | there is no reward function 'gsm8k-progresive'; did you mean 'gsm8k-progressive'?",
    "demo.yaml:5:5: steps[0].wieght | there is no setting 'wieght'; did you mean 'weight'?",
    "demo.yaml:6:53: steps[1].model | there is no model 'jugde'; did you mean 'judge'?",
    'demo.yaml:6:68 | .nan is not finite, or too long to be exact',
    'demo.yaml:6:68: steps[1].weight | must be a number, or points and without_step',
    "demo.yaml:7:49: steps[2].model | goes with reward models; 'gsm8k-progressive' is a rule and asks none",
    "demo.yaml:7:74: steps[2].options.moed | 'gsm8k-progressive' has no option 'moed'; did you mean 'mode'?",
    'demo.yaml:7:97: steps[2].options.mode | gsm8k-progressive: Invalid option: expected one of "sound"|"reference"',
    "demo.yaml:8:11: steps[3].name | there is another step 'third'; give each its own name",
    "demo.yaml:10:11: steps[3].when | there is no step 'fourht'; did you mean 'fourth'?",
    "demo.yaml:11:9: steps[3].op | must be 'add' or 'mul'",
    "demo.yaml:12:12: steps[3].after | the step 'fourth' stands below; move this step under it",
    'demo.yaml:13:32: steps[3].weight.points[1] | the training steps must ascend',
    'demo.yaml:14:55: steps[4].data_source | must be a text or a list of texts',
    'demo.yaml:14:70: steps[4].votes.n | too small: expected number to be >=1',
    "demo.yaml:15:10: formula | there is no step 'ninth'",
    "demo.yaml:16:13: on_invalid | must be null, a number, 'fail', 'group_mean' or {group_mean: <number>}",
    "gateway.yaml:7:14: models.other.backend | must be 'vllm' or 'sglang' or 'openai'; did you mean 'vllm'?",
    'gateway.yaml:9:17: models.other.instances[0] | must be an http:// or https:// address of a model server',
    'gateway.yaml:10:17: listen.port | invalid input: expected number, received string',
    "gateway.yaml:10:22: listen.hots | there is no setting 'hots'; did you mean 'host'?",
  ])
})

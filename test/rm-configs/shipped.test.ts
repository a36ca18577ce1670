import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import t from 'tap'
import { startSimulatedServers } from '../../src/cli/serve/simulated-servers.ts'
import { parseConfig } from '../../src/scoring/plan/config-text.ts'
import { isGatewayFile } from '../../src/scoring/plan/configs.ts'
import { configSchemas } from '../../src/scoring/plan/gateway-config.ts'
import { openObservedGateway } from '../../src/serving/observed-gateway.ts'
import { readNativeSample } from '../../src/trainers/native.ts'
import { outcomesOf } from '../support/gateway.ts'

const folder = join('rm-configs')

t.test(
  'the JSON Schemas beside the configs are those of the code (npm run generate writes them)',
  async (t) => {
    for (const [name, schema] of Object.entries(configSchemas())) {
      const file = join(folder, name)
      const text = `${JSON.stringify(schema, null, 2)}\n`
      t.equal(readFileSync(file, 'utf8'), text, `${name} is up to date`)
    }
  },
)

t.test('every shipped config fits its JSON Schema and names it for editors', async (t) => {
  const ajv = new Ajv2020({ strict: false, validateFormats: false })
  const schemas = configSchemas()
  for (const file of readdirSync(folder).filter((name) => name.endsWith('.yaml'))) {
    const text = readFileSync(join(folder, file), 'utf8')
    const name = isGatewayFile(file) ? 'gateway.schema.json' : 'reward.schema.json'
    t.match(text, new RegExp(`^# yaml-language-server: \\$schema=\\./${name}\n`), file)
    const validate = ajv.compile(schemas[name] ?? {})
    t.ok(validate(parseConfig({ file, text }, {}).value), `${file}: ${ajv.errorsText(validate.errors)}`)
  }
})

t.test(
  'every shipped config is served, and scores; `serve --simulate` simulates all of its models',
  async (t) => {
    const servers = await startSimulatedServers({ all: true })
    t.teardown(() => servers.close())
    const gateway = await openObservedGateway({ configs: [folder], functionFolders: [], env: servers.env })
    t.teardown(() => gateway.close(0))
    const files = readdirSync(folder).filter((name) => name.endsWith('.yaml') && !isGatewayFile(name))
    t.ok(files.length >= 3 && gateway.models().length >= 4)
    const simulated = servers.stats().map(({ url }) => url)
    for (const { name, instances } of gateway.models())
      for (const { address } of instances) t.ok(simulated.includes(address), `${name} is simulated`)
    t.strictSame(
      gateway
        .rewards()
        .map(({ name }) => `${name}.yaml`)
        .sort(),
      files.sort(),
    )
    t.match(
      gateway.reward('demo').steps.map(({ name }) => name),
      ['rule', 'careful', 'quick'],
    )

    await t.test("each of verl's data sources is scored by its rule, other sources by none", async (t) => {
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
      const samples = rows.map(([data_source, response, ground_truth], index) =>
        readNativeSample({ data_source, response, ground_truth }, index),
      )
      for (const [i, outcome] of (await outcomesOf(gateway, 'verl-default', samples)).entries()) {
        const [source, , , reward, step] = rows[i] ?? []
        if (!step) {
          t.match(outcome, { valid: false, failure: { kind: 'bad_sample' } }, `${source}: no rule`)
          continue
        }
        t.match(outcome, { valid: true, reward }, `${source}`)
        t.equal(outcome.terms.find(({ name }) => name === step)?.status, 'scored', step)
      }
    })

    await t.test('the likeness to the wanted reply is added where the rule is satisfied', async (t) => {
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
      t.match(await outcomesOf(gateway, 'rider-similarity', rows), [
        { id: 'same', valid: true, reward: 1.5 },
        { id: 'other', valid: true, reward: 0.1 },
      ])
      const embedder = servers.stats().find(({ model }) => model === 'embedder')
      t.equal(embedder?.stats.requests['/v1/embeddings'], 1, 'a closed gate asks nothing')
    })
  },
)

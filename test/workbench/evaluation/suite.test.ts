import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import t from 'tap'
import type { GatewayError } from '../../../src/core/errors.ts'
import { openGateway } from '../../../src/scoring/gateway/gateway.ts'
import { parseConfig } from '../../../src/scoring/plan/config-text.ts'
import { readSuite, suiteSchema } from '../../../src/workbench/evaluation/suite.ts'

const shipped = ['arithmetic', 'npg-muse'].map((name) => join('suites', `${name}.yaml`))
const gateway = await openGateway({
  configs: ['rm-configs/gsm8k.yaml'],
  inline: [],
  functionFolders: [],
  env: {},
})
t.teardown(() => gateway.close(0))

/** A suite in its own folder, with an empty data file `rows.jsonl`. */
const written = (folder: string, text: string): string => {
  writeFileSync(join(folder, 'rows.jsonl'), '')
  writeFileSync(join(folder, 'suite.yaml'), text)
  return join(folder, 'suite.yaml')
}

t.test('the JSON Schema next to the suites matches the code (UPDATE=1 writes it)', async (t) => {
  const file = join('suites', 'suite.schema.json')
  const text = `${JSON.stringify(suiteSchema(), null, 2)}\n`
  if (process.env.UPDATE) writeFileSync(file, text)
  t.equal(readFileSync(file, 'utf8'), text)
  const validate = new Ajv2020({ strict: false }).compile(suiteSchema())
  for (const suite of shipped) {
    const text = readFileSync(suite, 'utf8')
    t.match(text, /^# yaml-language-server: \$schema=\.\/suite\.schema\.json\n/)
    t.ok(validate(parseConfig({ file: suite, text }, {}).value), JSON.stringify(validate.errors))
  }
})

t.test('each benchmark of the shipped suites has a function that accepts its options', async (t) => {
  const folder = t.testdir()
  const suite = readSuite(shipped[1] ?? '', { EVALUATION_DATA: folder })
  t.equal(suite.inline.length, 25)
  t.notOk(suite.usesConfigs)
  const own = await openGateway({ configs: [], inline: suite.inline, functionFolders: [], env: {} })
  t.teardown(() => own.close(0))
  t.equal(own.rewards().length, 25)
  mkdirSync(folder, { recursive: true })
  for (const { file } of suite.inline)
    writeFileSync(join(folder, file.replace(/^suite\./, '').replace('.json', '.parquet')), '')
  const benchmarks = readSuite(shipped[1] ?? '', { EVALUATION_DATA: folder }).benchmarks(own, {})
  t.match(
    benchmarks.filter(({ k }) => k > 1).map(({ name, k }) => `${name} ${k}`),
    ['aime24 64', 'aime25 64', 'math500 8', 'lmb 8', 'minerva_math 8', 'gaokao2023en 8', 'gaokao2024_mix 8'],
  )
})

t.test('a command line overrides a benchmark, and a benchmark overrides the defaults', async (t) => {
  const suite = readSuite(
    written(
      t.testdir(),
      `defaults: { n: 4, max_tokens: 100, stop: [END] }
benchmarks:
  - { name: a, data: rows.jsonl, reward: gsm8k, max_tokens: 50 }
  - { name: b, data: rows.jsonl, reward: gsm8k, n: 1, k: 1 }`,
    ),
    {},
  )
  t.match(suite.benchmarks(gateway, { limit: 3 }), [
    {
      name: 'a',
      n: 4,
      k: 4,
      runs: 1,
      limit: 3,
      seed: 0,
      sampling: { temperature: 1, max_tokens: 50, stop: ['END'] },
    },
    { name: 'b', n: 1, k: 1, limit: 3, sampling: { temperature: 0, max_tokens: 100 } },
  ])
})

t.test(
  'all mistakes of a suite are reported at once, with their places and the nearest valid name',
  async (t) => {
    const suite = readSuite(
      written(
        t.testdir(),
        `default: { n: 4 }
benchmarks:
  - { name: a, data: rows.jsonl, reward: gsm8 }
  - { name: a, data: row.jsonl, reward: gsm8k, temprature: 1 }
  - { name: c, data: rows.jsonl, n: 2, k: 3, reward: gsm8k, function: gsm8k-stock }
  - { name: d, reward: gsm8k, max_tokens: none }`,
      ),
      {},
    )
    const error = (() => {
      try {
        suite.benchmarks(gateway, {})
      } catch (thrown) {
        return thrown as GatewayError
      }
      return null
    })()
    t.match(error, { code: 'RG_CONFIG_INVALID', message: /9 mistakes/ })
    const told = error?.problems.map(({ path, message }) => `${path} ${message}`).join('\n') ?? ''
    for (const part of [
      /suite\.yaml:1:1: default there is no setting 'default'; did you mean 'defaults'/,
      /:3:\d+: benchmarks\[0\]\.reward there is no reward 'gsm8'; did you mean 'gsm8k'/,
      /benchmarks\[1\]\.name 'a' is already the name of another benchmark/,
      /benchmarks\[1\]\.data there is no file .*row\.jsonl/,
      /benchmarks\[1\]\.temprature there is no setting 'temprature'; did you mean 'temperature'/,
      /benchmarks\[2\].* give either reward or function/,
      /benchmarks\[2\]\.k is 3, but a row gets 2 answers/,
      /benchmarks\[3\]\.data is missing/,
      /benchmarks\[3\]\.max_tokens/,
    ])
      t.match(told, part)
  },
)

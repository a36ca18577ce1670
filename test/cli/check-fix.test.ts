import { lstatSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import t from 'tap'
import { command } from '../../src/cli/rewards/check.ts'
import type { GatewayError } from '../../src/core/errors.ts'

async function check(...argv: string[]) {
  const stdout = new PassThrough()
  const { signal } = new AbortController()
  const io = { stdin: new PassThrough(), stdout, stderr: new PassThrough(), env: {}, signal }
  const code = await command.run(argv, io).catch((error: GatewayError) => error)
  return { code, text: String(stdout.read() ?? '') }
}

const old = {
  'gateway.yaml': `models:
  judge:
    model: m # weights
    instances: ['http://127.0.0.1:9']
    reports_as: [n]
    hedge: { after: 0.9 }
    max_queue_s: 3
    wait_for_instance_s: 4
limits:
  # proxies
  leave_s: 1
  deadline_s: 60
  drain_s: 2
wires: { slime: { truths: truths.jsonl } }
`,
  'own.yaml': `arithmetic: reference
steps:
  - { name: rule, function: gsm8k, options: { mode: sound } }
  - { name: own, function: theirs, options: { mode: sound } }
  - { name: judge, function: yes-no-judge, model: judge, soft: true }
`,
  'pairs.json': `{
  "steps": [
    { "name": "duel", "function": "pairwise-judge", "model": "judge", "pairs": { "scheme": "circular" } }
  ]
}
`,
}

const files = {
  ...old,
  'truths.jsonl': '{"prompt":"a","ground_truth":"b"}\n',
  functions: {
    'theirs.mjs': `import { z } from 'zod'
import { defineRule } from 'reward-gateway/contract'
export default defineRule({
  truth: z.unknown(), range: [0, 1], options: z.strictObject({ mode: z.enum(['sound', 'wild']) }), score: () => 1,
})
`,
  },
}

const own = (folder: string): readonly string[] => ['--reward-functions', join(folder, 'functions')]

const configsOf = (folder: string): Record<string, string> =>
  Object.fromEntries(Object.keys(old).map((name) => [name, readFileSync(join(folder, name), 'utf8')]))

t.test('each old setting is an error that names the new setting and --fix', async (t) => {
  const folder = t.testdir(files)
  const { code } = await check(folder, ...own(folder))
  const told = (code as GatewayError).problems.map(({ path, message }) =>
    `${path} ${message}`.replaceAll(`${folder}/`, ''),
  )
  const is = (place: string, from: string, to: string) => {
    const [file] = place.split(':')
    return `${place} \`${from}\` is called \`${to}\` now; \`reward-gateway check --fix ${file}\` rewrites it`
  }
  t.strictSame(
    told.sort(),
    [
      is('gateway.yaml:11:3: limits.leave_s', 'limits.leave_s', 'shutdown.pre_stop_s'),
      is('gateway.yaml:13:3: limits.drain_s', 'limits.drain_s', 'shutdown.grace_s'),
      is('gateway.yaml:14:1: wires', 'wires', 'trainers'),
      is('gateway.yaml:5:5: models.judge.reports_as', 'reports_as', 'served_model_aliases'),
      is('gateway.yaml:6:14: models.judge.hedge.after', 'hedge.after', 'hedge.quantile'),
      is('gateway.yaml:7:5: models.judge.max_queue_s', 'max_queue_s', 'max_queue_wait_s'),
      is('gateway.yaml:8:5: models.judge.wait_for_instance_s', 'wait_for_instance_s', 'wait_for_instance'),
      is('own.yaml:1:13: arithmetic', 'arithmetic: reference', 'arithmetic: published'),
      is('own.yaml:3:53: steps[0].options.mode gsm8k:', 'options.mode: sound', 'options.mode: strict'),
      is('own.yaml:5:58: steps[2].soft', 'soft: true', 'verdict: expected'),
      is('pairs.json:3:92: steps[0].pairs.scheme', 'pairs.scheme: circular', 'pairs.scheme: ring'),
    ].sort(),
  )
})

t.test('--fix on a folder', async (t) => {
  const folder = t.testdir({ ...files, link: t.fixture('symlink', 'gateway.yaml') })
  const { mode } = statSync(join(folder, 'own.yaml'))
  const { code, text } = await check('--fix', folder, ...own(folder))
  const fixed = configsOf(folder)

  t.test('writes what passes check', async (t) => {
    t.equal(code, 0)
    t.match(text, /2 rewards and 1 model are in order\n$/)
  })

  t.test('reports each change with its line', async (t) => {
    t.match(text, `fixed ${join(folder, 'own.yaml')}:5: \`soft: true\` is \`verdict: expected\` now\n`)
    t.match(
      text,
      `fixed ${join(folder, 'gateway.yaml')}:11: \`limits.leave_s\` is \`shutdown.pre_stop_s\` now\n`,
    )
    t.equal(text.match(/^fixed /gm)?.length, 12)
  })

  t.test('keeps comments, and what is still valid', async (t) => {
    t.match(
      fixed['gateway.yaml'],
      'shutdown:\n  # proxies\n  pre_stop_s: 1\n  grace_s: 2\ntrainers: { slime: { ground_truth_file',
    )
    t.match(fixed['own.yaml'], 'theirs, options: { mode: sound }', 'what a function still takes stays')
  })

  t.test('keeps the mode of a file, and leaves nothing beside it', async (t) => {
    t.equal(statSync(join(folder, 'own.yaml')).mode, mode)
    t.strictSame(
      readdirSync(folder).filter((name) => name.includes('unfinished')),
      [],
    )
  })

  t.test('changes nothing when run again', async (t) => {
    const again = await check('--fix', folder, ...own(folder))
    t.notMatch(again.text, /^(fixed|left) /m)
    t.strictSame(configsOf(folder), fixed)
  })
})

t.test('--fix changes no file that is not named', async (t) => {
  const folder = t.testdir(files)
  const { code, text } = await check('--fix', join(folder, 'own.yaml'), ...own(folder))
  t.match(code, { code: 'RG_CONFIG_INVALID' }, 'the gateway file beside it still has old names')
  t.equal(text.match(/^fixed /gm)?.length, 3)
  t.equal(configsOf(folder)['gateway.yaml'], old['gateway.yaml'])
})

t.test('--fix changes no file that is not valid YAML', async (t) => {
  const broken = join(t.testdir({ 'gateway.yaml': 'wires: {\n' }), 'gateway.yaml')
  t.match((await check('--fix', broken)).code, { code: 'RG_CONFIG_INVALID' })
  t.equal(readFileSync(broken, 'utf8'), 'wires: {\n')
})

t.test('--fix writes the file that a symbolic link names, and keeps the link', async (t) => {
  const folder = t.testdir({ ...files, linked: { 'gateway.yaml': t.fixture('symlink', '../gateway.yaml') } })
  const link = join(folder, 'linked/gateway.yaml')
  t.match((await check('--fix', link)).text, /^fixed /)
  t.ok(lstatSync(link).isSymbolicLink())
  t.match(configsOf(folder)['gateway.yaml'], /^trainers:/m)
})

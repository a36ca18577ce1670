/**
 * Every block of code in the docs is run, compiled or checked. The pages of recipes.test.ts are followed from the first block to the last;
 * here the rest: what is a command, a config, JSON or Python.
 */
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import type { Command } from '../../src/cli/command.ts'
import { parse as parseOptions } from '../../src/cli/options.ts'
import { openFunctions } from '../../src/scoring/functions/open-functions.ts'
import { readConfigs } from '../../src/scoring/plan/configs.ts'
import { gatewayConfig } from '../../src/scoring/plan/gateway-config.ts'
import { resolvePlans } from '../../src/scoring/plan/resolve.ts'
import { readSuite } from '../../src/workbench/evaluation/suite.ts'
import { followedPages, optInPages } from '../support/page.ts'
import { commandLines, pasteTrouble, shellWords } from '../support/shell-words.ts'

const files = (folder: string, ending: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(ending) && !name.includes('node_modules'))
    .map((name) => join(folder, name))

/** docs/api.md is written from the compiled types; the README's are run by readme.test.ts. */
const pages = [
  ...files('docs', '.md').filter((page) => page !== 'docs/api.md'),
  'README.md',
  'CONTRIBUTING.md',
  'starter/README.md',
  'clients/python/README.md',
]

interface Block {
  /** Page and line. */
  readonly place: string
  readonly language: string
  readonly words: readonly string[]
  readonly text: string
}

/** Indented blocks are commands, as the site shows them. */
const blocks: readonly Block[] = pages.flatMap((page) => {
  const text = readFileSync(page, 'utf8')
  const lineAt = (index: number) => text.slice(0, index).split('\n').length
  const fenced = [...text.matchAll(/^```(\S*) ?(.*)\n([\s\S]*?)^```$/gm)].map(
    ({ 1: language = '', 2: words = '', 3: body = '', index }): Block => ({
      place: `${page}:${lineAt(index)}`,
      language,
      words: words.split(' ').filter(Boolean),
      text: body,
    }),
  )
  const plain = text.replace(/^```.*?^```$/gms, (block) => block.replace(/^.*$/gm, '```'))
  const indented = [...plain.matchAll(/(?<=^\n)(?: {4}.*\n(?:\n(?= {4}))?)+/gm)]
    .filter(({ index }) => !/^(?:[-*]|\d+\.) /m.test(plain.slice(0, index).split(/\n\n/).at(-2) ?? ''))
    .map(
      ({ 0: body, index }): Block => ({
        place: `${page}:${lineAt(index)}`,
        language: 'sh',
        words: [],
        text: body.replace(/^ {4}/gm, ''),
      }),
    )
  return [...fenced, ...indented]
})
const of = (...languages: string[]) => blocks.filter(({ language }) => languages.includes(language))

/**
 * What a page shows and nobody types: what a command prints, and the formats of other programs. promtool reads the queries
 * (deployment.test.ts), and the site draws the diagrams (site.browser.ts).
 */
const shown = ['text', 'mermaid', 'nginx', 'promql']

t.test('every block has a language that a test knows', async (t) => {
  const known = ['sh', 'bash', 'yaml', 'json', 'jsonl', 'ts', 'python', 'toml', ...shown]
  for (const { place, language } of blocks) if (!known.includes(language)) t.fail(`${place}: '${language}'`)
  t.ok(blocks.length > 200, `${blocks.length} blocks`)
})

const commands = new Map<string, Command>()
for (const file of files('dist/src/cli', '.js')) {
  if (!/cli\/\w+\/[\w-]+\.js$/.test(file)) continue
  const { command } = (await import(join(process.cwd(), file))) as { command?: Command }
  if (command) commands.set(command.name, command)
}

t.test('commands can be pasted into bash and zsh, and the gateway takes their options', async (t) => {
  const whole = of('sh', 'bash')
    .map(({ text }) => text)
    .join('\n')
  for (const shell of ['bash', 'zsh']) {
    const { error, stderr } = spawnSync(shell, ['-n'], { input: whole, encoding: 'utf8' })
    if (error === undefined) t.equal(stderr, '', `${shell} reads all of them`)
  }
  let checked = 0
  for (const { place, text } of of('sh', 'bash')) {
    if (/^\s*-/.test(text)) t.fail(`${place}: options without a command are a block of text`)
    for (const line of commandLines(text)) {
      const trouble = pasteTrouble(line)
      if (trouble !== null) t.fail(`${place}: ${line}: ${trouble}`)
      const called = /(?:^|[;&|(] *|npx )reward-gateway ([^|;)]*)/.exec(line)?.[1]
      if (called === undefined) continue
      const [first = '', second = '', ...rest] = shellWords(called).filter(
        (word) => !/^(?:&|\d?>.*)$/.test(word),
      )
      const nested = commands.get(`${first} ${second}`)
      const command = nested ?? commands.get(first)
      const argv = nested ? rest : [second, ...rest].filter((word) => word !== '')
      if (!command) {
        if (!/^(?:completion|help|--\w+)$/.test(first)) t.fail(`${place}: ${line}`)
        continue
      }
      checked += 1
      const { name, options, positionals } = command
      if (argv.includes('--help')) continue
      try {
        parseOptions(argv, options, { command: name, takesPositionals: positionals !== undefined })
      } catch (error) {
        // The reader's own files.
        if (!/does not exist$/.test(String(error))) t.fail(`${place}: ${line}: ${error}`)
      }
    }
  }
  t.ok(checked > 60, `${checked} calls of reward-gateway`)
})

t.test('JSON can be read', async (t) => {
  for (const { place, text } of of('json')) t.doesNotThrow(() => JSON.parse(text), place)
  for (const { place, text } of of('jsonl'))
    for (const line of text.trim().split('\n')) t.doesNotThrow(() => JSON.parse(line), place)
})

t.test('Python and TOML can be read', async (t) => {
  const script = `import ast, json, sys, tomllib
for place, language, text in json.load(sys.stdin):
    try:
        compile(text, place, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT | ast.PyCF_ONLY_AST) if language == "python" else tomllib.loads(text)
    except Exception as error:
        print(f"{place}: {error}")`
  const given = of('python', 'toml').map(({ place, language, text }) => [place, language, text])
  t.ok(given.length > 5)
  const { stdout, stderr } = spawnSync('python3', ['-c', script], {
    input: JSON.stringify(given),
    encoding: 'utf8',
  })
  t.equal(stdout + stderr, '')
})

/** YAML of other programs, by page. Trainers read their own in test/published-trainers/test_pages.py. */
const foreign = ['docs/cluster.md', 'clients/python/README.md', ...files('docs/trainers', '.md')]

/** Functions of the reader's that a page names without showing them. */
const standIns = {
  'my_reward.py':
    'def compute_score(solution_str, ground_truth, method=None):\n    return {"score": 1, "format": 1, "accuracy": 1}\n',
}

type Values = Readonly<Record<string, unknown>>
interface Reward extends Values {
  readonly steps: readonly (Values & { readonly model?: string | string[]; readonly sandbox?: string })[]
}
const isReward = (value: Values): value is Reward => Array.isArray(value.steps)

/** With the defaults of its variables, or an address. */
const valuesOf = (text: string): Values =>
  parse(
    text
      .replace(/"\$\{\w+:-([^}]*)\}"/g, '$1')
      .replace(/\$\{\w+:-([^}]*)\}/g, '$1')
      .replace(/\$\{\w+\}/g, 'http://127.0.0.1:9'),
  ) ?? {}

/** The page's gateway.yaml with what a reward needs beside it. */
function gatewayFor({ steps, models: own }: Reward, parts: readonly Values[]): Values {
  const models: Record<string, unknown> = {}
  for (const part of parts) if (!own) Object.assign(models, part.models)
  const sandboxes: Record<string, unknown> = {}
  for (const { model, escalate, sandbox } of steps) {
    const second = (escalate as { model?: string } | undefined)?.model
    for (const name of [model ?? [], second ?? []].flat())
      if (!Object.hasOwn(own ?? {}, name)) models[name] ??= { model: name, instances: ['http://127.0.0.1:9'] }
    if (sandbox !== undefined) sandboxes[sandbox] = {}
  }
  return { models, sandboxes }
}

t.test('configs are in order', async (t) => {
  const sections = new Set(Object.keys(gatewayConfig.shape))
  const functions = await openFunctions({
    folders: [t.testdir(standIns)],
    sampleTimeoutMs: 5000,
    memoryMb: 256,
    python: { command: 'python3', processes: 1, memoryMb: 256 },
  })
  t.teardown(() => functions.close())
  const isRun = (page: string) =>
    [...followedPages, ...optInPages].some((followed) => page === `docs/${followed}.md`)
  let checked = 0
  for (const page of new Set(of('yaml').map(({ place }) => place.split(':')[0] ?? ''))) {
    const own = of('yaml').filter(({ place }) => place.startsWith(`${page}:`))
    const values = own.map(({ text }) => valuesOf(text))
    const isPart = (value: Values) => Object.keys(value).every((key) => sections.has(key))
    for (const [at, value] of values.entries()) {
      const place = own[at]?.place ?? ''
      checked += 1
      if (isPart(value)) t.doesNotThrow(() => gatewayConfig.parse(value), place)
      else if (value.benchmarks !== undefined) {
        const file = join(t.testdirName, 'suite.yaml')
        writeFileSync(file, own[at]?.text ?? '')
        t.doesNotThrow(() => readSuite(file, { EVALUATION_DATA: '.' }), place)
      } else if (isReward(value) || value.options !== undefined) {
        // The options of a step are those of the reward before.
        const before = values.slice(0, at).findLast(isReward)
        const reward: Reward = isReward(value)
          ? value
          : { ...before, steps: [{ ...before?.steps[0], options: value.options }] }
        if (isRun(page)) continue
        const gateway = JSON.stringify(gatewayFor(reward, values.filter(isPart)))
        const texts = [
          { file: 'gateway.json', text: gateway },
          { file: 'reward.json', text: JSON.stringify(reward) },
        ]
        const refused = await resolvePlans(readConfigs(texts, {}), functions).then(
          () => null,
          (error) => error.problems ?? error,
        )
        t.equal(refused, null, `${place}: ${JSON.stringify(refused)}`)
      } else t.ok(foreign.includes(page), `${place}: neither a reward nor a part of gateway.yaml`)
    }
  }
  t.ok(checked > 60, `${checked} configs`)
})

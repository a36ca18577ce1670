import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import type { Test } from 'tap'
import { runCommand } from './command-line.ts'
import { freePorts } from './free-ports.ts'
import { commandLines, shellWords } from './shell-words.ts'

/** The pages of docs/ that a test follows from their first block to the last. */
export const followedPages: readonly string[] = [
  'concepts',
  'figures',
  'kinds',
  'quickstart',
  'recipes/add-a-judge',
  'recipes/add-a-rule',
  'recipes/add-a-trainer',
  'recipes/code',
  'recipes/countdown',
  'recipes/decisions',
  'recipes/geo3k-vlm',
  'recipes/gsm8k',
  'recipes/instruction-following',
  'recipes/lean',
  'recipes/length',
  'recipes/nemo-gym-resources',
  'recipes/npg-muse',
  'recipes/rider',
  'recipes/rubrics',
  'recipes/service',
  'recipes/short-answers',
  'recipes/step-rewards',
  'recipes/tool-call',
  'recipes/tool-use',
  'recipes/translation',
]

/** Those that need a Python package: npm run test:verifiers follows them. */
export const optInPages: readonly string[] = ['recipes/reasoning-gym', 'recipes/verifiers-rewards']

const root = process.cwd()
const run = promisify(execFile)
const pagePort = /\b8[01]\d\d\b/g

/** A fenced block of a page: its language, the words after it, and its text. */
interface Block {
  readonly language: string
  readonly words: readonly string[]
  readonly text: string
}

/**
 * Does what a page of docs/ says, in a folder of its own: writes its files, runs its commands but those marked
 * `training`, and holds results to its `expected` blocks. Ports of the page become free ones.
 */
export async function followPage(t: Test, page: string): Promise<void> {
  const folder = t.testdir({})
  symlinkSync(join(root, 'rm-configs'), join(folder, 'rm-configs'))
  process.chdir(folder)
  t.teardown(() => process.chdir(root))
  const text = readFileSync(join(root, page), 'utf8')
  const ports = new Map<string, number>()
  for (const [port] of text.matchAll(pagePort))
    if (!ports.has(port)) ports.set(port, (await freePorts(2))[0] ?? 0)
  const env = Object.fromEntries(
    [
      ['JUDGE_URL', '8101'],
      ['JUDGE_A_0', '8101'],
      ['JUDGE_A_1', '8101'],
      ['JUDGE_B_0', '8103'],
      ['PRM_0', '8106'],
      ['VLM_0', '8107'],
    ].map(([name, port]) => [name, `http://127.0.0.1:${ports.get(port ?? '') ?? 9}`]),
  )
  const moved = text.replace(pagePort, (port) => String(ports.get(port)))
  for (const block of blocksOf(moved)) await follow(t, block, folder, env)
}

function blocksOf(text: string): Block[] {
  return Array.from(
    text.matchAll(/^```(\S+) ?(.*)\n([\s\S]*?)^```$/gm),
    ([, language = '', words = '', body = '']) => ({
      language,
      words: words.split(' ').filter((word) => word !== ''),
      text: body,
    }),
  )
}

async function follow(
  t: Test,
  block: Block,
  folder: string,
  env: Readonly<Record<string, string>>,
): Promise<void> {
  const [first, second] = block.words
  if (first === 'expected')
    t.match(linesOf(join(folder, second ?? '')), block.text.trim().split('\n').map(parse), `${second}`)
  else if (block.language !== 'sh' && first) writeBlock(t, folder, first, block.text)
  else if (block.language === 'sh' && first !== 'training') {
    for (const command of commandLines(block.text)) await obey(t, command, folder, env)
  }
}

/** A block that shows a file of the project holds its text; any other is a file of the reader's. */
function writeBlock(t: Test, folder: string, file: string, text: string): void {
  const own = join(root, file)
  if (existsSync(own)) t.equal(text, readFileSync(own, 'utf8'), file)
  else {
    mkdirSync(dirname(join(folder, file)), { recursive: true })
    writeFileSync(join(folder, file), text)
  }
}

async function obey(
  t: Test,
  command: string,
  cwd: string,
  env: Readonly<Record<string, string>>,
): Promise<void> {
  const [name, ...argv] = shellWords(command)
  if (name !== 'reward-gateway') {
    const packages = join(root, 'node_modules/.bin')
    const { stdout } = await run('bash', ['-c', command.replace(/^npx /, `${packages}/`)], { cwd })
    t.ok(stdout.trim() !== '', command.slice(0, 60))
  } else if (argv.at(-1) === '&') await background(t, argv.slice(0, -1), env)
  else {
    const ran = await runCommand(argv, { env })
    // Some rows of the examples are meant to fail.
    const expected = / no reward:\n/.test(ran.stderr) ? 1 : 0
    t.equal(ran.code, expected, `${command}\n${ran.stderr}`)
  }
}

/** Resolves once the command has said something; it is ended with the test. */
async function background(
  t: Test,
  argv: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<void> {
  const ending = new AbortController()
  await new Promise<void>((resolve, reject) => {
    const ran = runCommand([...argv, ...(argv[0] === 'serve' ? ['--log-level', 'silent'] : [])], {
      env,
      signal: ending.signal,
      onStdout: () => resolve(),
    })
    ran.then(({ code, stderr }) => (code === 0 ? resolve() : reject(new Error(stderr))), reject)
    t.teardown(async () => {
      ending.abort()
      await ran
    })
  })
}

const parse = (line: string): unknown => JSON.parse(line)
const linesOf = (file: string): unknown[] => readFileSync(file, 'utf8').trim().split('\n').map(parse)

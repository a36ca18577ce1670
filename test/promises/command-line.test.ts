/** What is promised to somebody who scores files, kept by the command line with the settings that ship. */
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type Ran, runCommand } from '../support/command-line.ts'
import { seeded } from '../support/seeded.ts'
import { serveConfigs } from '../support/served.ts'
import { startFleet } from '../support/simulated.ts'

const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31))
t.comment(`SEED=${seed}`)

interface Row {
  readonly id: string
  readonly prompt: string
  readonly response: string
  readonly ground_truth: string
}

interface Scored {
  readonly id: string
  readonly reward: number | null
  readonly valid: boolean
  readonly failure: { readonly kind: string } | null
}

const random = seeded(seed)
const rowOf = (number: number): Row => {
  const [a, b] = [Math.floor(random() * 1000), Math.floor(random() * 1000)]
  const answer = number % 2 === 0 ? a + b : a + b + 1
  return {
    id: `row-${number}`,
    prompt: `What is ${a} + ${b}? (No. ${number})`,
    response: `${a} + ${b} = ${answer}\n\\boxed{${answer}}`,
    ground_truth: String(a + b),
  }
}
const rows = Array.from({ length: 120 }, (_, number) => rowOf(number))
const rewardOf = ({ id }: { readonly id: string }): number => (Number(id.slice(4)) % 2 === 0 ? 2 : 0)

const judges = await startFleet(t, 2, { model: 'judge', policy: 'arithmetic', seed })
const configs = {
  gateway: { models: { judge: { model: 'judge', instances: judges.map(({ url }) => url) } } },
  mixed: {
    steps: [
      { name: 'rule', function: 'numeric-match' },
      { name: 'judge', function: 'yes-no-judge', model: 'judge' },
    ],
  },
}

/** A folder with the configs and these lines of rows. */
function folderOf(t: Test, lines: readonly string[]): string {
  return t.testdir({
    configs: Object.fromEntries(
      Object.entries(configs).map(([name, config]) => [`${name}.yaml`, JSON.stringify(config)]),
    ),
    'rows.jsonl': `${lines.join('\n')}\n`,
  })
}

/** Runs the command in a process of its own, as its user does; what is not about the process is run in this one. */
function runProcess(...args: readonly string[]): Promise<Ran> {
  return new Promise((resolve) => {
    execFile(process.execPath, ['dist/src/cli/main.js', ...args], (error, stdout, stderr) =>
      resolve({ code: error ? Number(error.code) : 0, stdout, stderr }),
    )
  })
}

const argsOf = (folder: string): readonly string[] => [
  ...['score', '--config', join(folder, 'configs'), '--reward', 'mixed'],
  ...['--input', join(folder, 'rows.jsonl'), '--output', join(folder, 'scored.jsonl')],
]
const scoreAt = (folder: string): Promise<Ran> => runCommand(argsOf(folder))

const scoredAt = (folder: string): Scored[] =>
  readFileSync(join(folder, 'scored.jsonl'), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Scored)

t.test('a file has the rewards that a server gives the same rows, in the order of the rows', async (t) => {
  const folder = folderOf(
    t,
    rows.map((row) => JSON.stringify(row)),
  )
  const { code, stderr } = await runProcess(...argsOf(folder))
  t.equal(code, 0, stderr)
  const scored = scoredAt(folder)
  t.strictSame(
    scored.map(({ id, reward }) => ({ id, reward })),
    rows.map((row) => ({ id: row.id, reward: rewardOf(row) })),
  )
  const served = await serveConfigs(configs)
  t.teardown(() => served.stop())
  const reply = await fetch(`${served.url}/v1/score`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ reward: 'mixed', samples: rows }),
  })
  const { results } = (await reply.json()) as { results: readonly Scored[] }
  t.strictSame(
    results.map(({ id, reward }) => ({ id, reward })),
    scored.map(({ id, reward }) => ({ id, reward })),
  )
})

t.test('a judge that is ill costs no row of a file, where another one is well', async (t) => {
  for (const kind of ['500', 'half-body', 'reset'] as const) {
    judges[0]?.set({ kind })
    const folder = folderOf(
      t,
      rows.slice(0, 40).map((row) => JSON.stringify({ ...row, prompt: `${row.prompt} ${kind}` })),
    )
    const { code, stderr } = await scoreAt(folder)
    judges[0]?.set()
    t.equal(code, 0, `${kind}: ${stderr}`)
    t.ok(
      scoredAt(folder).every((row) => row.valid && row.reward === rewardOf(row)),
      kind,
    )
  }
})

t.test('a row that cannot be judged has no number, and the exit code says so', async (t) => {
  for (const judge of judges) judge.set({ kind: 'nan' })
  const folder = folderOf(
    t,
    rows.slice(0, 4).map((row) => JSON.stringify({ ...row, prompt: `${row.prompt} nan` })),
  )
  const { code } = await scoreAt(folder)
  for (const judge of judges) judge.set()
  t.equal(code, 1)
  const scored = scoredAt(folder)
  t.equal(scored.length, 4)
  t.ok(scored.every(({ reward, valid, failure }) => reward === null && !valid && failure !== null))
})

t.test('a line that is no row is told with its place; the other rows are scored', async (t) => {
  const lines = rows.slice(0, 6).map((row) => JSON.stringify(row))
  lines.splice(3, 0, '{"id": "broken", "prompt": ')
  const folder = folderOf(t, lines)
  const { code, stderr } = await scoreAt(folder)
  t.not(code, 0)
  t.match(stderr, /row '3'.*not JSON/)
})

t.test('what a config says wrongly is told with its place, before a row is scored', async (t) => {
  const folder = t.testdir({
    'rows.jsonl': `${JSON.stringify(rows[0])}\n`,
    configs: { 'mixed.yaml': 'steps:\n  - { name: rule, function: numeric-mach }\n' },
  })
  const { code, stderr } = await runProcess(...argsOf(folder))
  t.equal(code, 2)
  t.match(stderr, /mixed\.yaml:2:\d+.*numeric-mach[\s\S]*numeric-match/)
  t.equal((await runCommand(['check', join(folder, 'configs')])).code, 1)
})

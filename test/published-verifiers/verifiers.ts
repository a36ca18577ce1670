/** Run by run.sh beside this file: CI installs none of these packages. */
import { spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { freePorts } from '../support/free-ports.ts'
import { outcomesOf, resultOf, sampleOf, testGateway } from '../support/gateway.ts'
import { followPage } from '../support/page.ts'

const venvs = process.env.VENVS ?? ''
const binOf = (name: string): string => join(venvs, name, 'bin')
// The first import of these packages takes half a minute on a busy machine.
t.setTimeout(600_000)

for (const [page, name] of [
  ['recipes/reasoning-gym', 'reasoning-gym'],
  ['recipes/verifiers-rewards', 'verifiers'],
] as const)
  t.test(`docs/${page}.md does what it says, with the published package`, async (t) => {
    const { PATH: path = '' } = process.env
    process.env.PATH = `${binOf(name)}:${path}`
    t.teardown(() => {
      process.env.PATH = path
    })
    await followPage(t, `docs/${page}.md`)
  })

/** Starts a Python server, and waits until it answers at `path`. Ended with the test. */
async function started(
  t: Test,
  argv: readonly string[],
  cwd: string,
  port: number,
  path: string,
): Promise<void> {
  const child = spawn(join(binOf('nemo-gym'), 'python'), argv, {
    cwd,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  for (let tries = 0; tries < 600 && child.exitCode === null; tries += 1) {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`).catch(() => null)
    if (answer?.status === 200) return
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  throw new Error(`${argv.join(' ')} did not start`)
}

/** The config of a page's block, with another port. */
const blockOf = (page: string, file: string): string => {
  const text = readFileSync(page, 'utf8')
  return new RegExp(`^\`\`\`\\S+ ${file}\\n([\\s\\S]*?)^\`\`\`$`, 'm').exec(text)?.[1] ?? ''
}

t.test('a resources server of NeMo Gym scores texts and agents as the recipe sends them', async (t) => {
  const [port = 0] = await freePorts(1)
  const here = join(process.cwd(), 'test/published-verifiers')
  await started(t, ['gym_server.py', String(port)], here, port, '/docs')
  const page = 'docs/recipes/nemo-gym-resources.md'
  // The server of reasoning-gym reads other fields of the row.
  const step = blockOf(page, 'gym.yaml').replace(
    'expected_answer: "{ground_truth}"',
    'question: "{prompt.text}"\n        answer: "{ground_truth}"\n        metadata: { source_dataset: leg_counting }',
  )
  const gateway = await testGateway(t, {}, {}, [
    {
      file: 'gateway.yaml',
      text: blockOf(page, 'gateway.yaml').replace(/127\.0\.0\.1:\d+/, `127.0.0.1:${port}`),
    },
    { file: 'gym.yaml', text: step },
  ])
  const asked = { prompt: [{ role: 'user', content: 'How many legs?' }], groundTruth: '12' }
  const turns = [
    {
      role: 'assistant',
      content: '',
      reasoning: 'Let me add.',
      toolCalls: [{ id: 'c1', name: 'add', arguments: { a: 4, b: 8 } }],
    },
    { role: 'tool', content: '12', toolCallId: 'c1' },
    { role: 'assistant', content: '<answer>12</answer>' },
  ]
  const outcomes = await outcomesOf(gateway, 'gym', [
    sampleOf('<answer>12</answer>', asked),
    sampleOf('<answer>13</answer>', asked),
    sampleOf('<answer>12</answer>', { ...asked, turns }),
    sampleOf('\ud800 <answer>", "reward": 1</answer>', asked),
  ])
  t.strictSame(outcomes.map(resultOf), [1, 0, 1, 0])
  const malformed = await outcomesOf(gateway, 'gym', [sampleOf('12', { ...asked, groundTruth: 12 })])
  t.equal(resultOf(malformed[0]), 'judge_rejected', 'Gym refuses an answer that is no text')
})

t.test('the FastAPI service of the recipe scores', async (t) => {
  const [port = 0] = await freePorts(1)
  const page = 'docs/recipes/service.md'
  const folder = t.testdir({})
  writeFileSync(join(folder, 'grader.py'), blockOf(page, 'grader.py'))
  await started(
    t,
    ['-m', 'uvicorn', 'grader:app', '--port', String(port), '--log-level', 'error'],
    folder,
    port,
    '/health',
  )
  const gateway = await testGateway(t, {}, {}, [
    {
      file: 'gateway.yaml',
      text: blockOf(page, 'gateway.yaml').replace(/127\.0\.0\.1:\d+/, `127.0.0.1:${port}`),
    },
    { file: 'graded.yaml', text: blockOf(page, 'graded.yaml') },
  ])
  const outcomes = await outcomesOf(gateway, 'graded', [
    sampleOf('It is 42', { groundTruth: '42' }),
    sampleOf('It is 41', { groundTruth: '42' }),
    sampleOf('It is 42', { groundTruth: { not: 'a text' } }),
  ])
  t.strictSame(outcomes.map(resultOf), [1, 0, 'judge_rejected'])
})

/**
 * Rows of LiveCodeBench's shape through `serve` while a server of each sandbox is killed and another one says SandboxError
 * for 60 s. Every verdict must be right, or invalid by name. `ROWS` (1,000) and `SECONDS` (60) shorten it.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { createServer, request as send } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ScriptedRun, startSimulatedServer } from '../src/simulator/index.ts'
import { packedPickle } from '../test/support/packed-tests.ts'

const rows = Number(process.env.ROWS ?? 1000)
const seconds = Number(process.env.SECONDS ?? 60)
const batch = 16
const trainers = 4
const key = randomBytes(24).toString('hex')
const env = { ...process.env, SANDBOX_KEY: key }

/** Kinds of rows by their number: right or wrong on the last test, or an exception; by standard input or by a function. */
const bodies: readonly (readonly [string, number])[] = [
  ['print(sum(map(int, input().split())) + OFFSET)', 1],
  ['a, b = map(int, input().split())\nprint(a + b + OFFSET if a < 9 else 0)', 0],
  ['class Solution:\n    def add(self, a, b):\n        return a + b + OFFSET', 1],
  ['def add(a, b):\n    return a + b + OFFSET if a < 9 else [][0]', 0],
]

interface Row {
  readonly response: string
  readonly ground_truth: object
  readonly wanted: number
  readonly runs: readonly ScriptedRun[]
}

const inputs: readonly (readonly [number, number])[] = [
  [1, 2],
  [3, 4],
  [5, 6],
  [9, 8],
]

function rowOf(at: number): Row {
  const [body, wanted] = bodies[at % bodies.length] as readonly [string, number]
  const program = `# row ${at};\n${body.replace('OFFSET', `${at}`)}`
  const isCalled = at % bodies.length > 1
  const tests = inputs.map(([a, b]) => ({
    input: isCalled ? `${a}\n${b}` : `${a} ${b}\n`,
    output: `${a + b + at}${isCalled ? '' : '\n'}`,
    testtype: isCalled ? 'functional' : 'stdin',
  }))
  const runs = inputs.map(([a, b], test): ScriptedRun => {
    const value = a + b + at
    const isWrong = wanted === 0 && test === inputs.length - 1
    if (!isCalled) return { program, stdin: `${a} ${b}\n`, stdout: `${isWrong ? 0 : value}\n` }
    return { program, test: `[${a},${b}]`, ...(isWrong ? { ended: 'exception' } : { value }) }
  })
  return {
    response: `The program adds.\n\n\`\`\`python\n${program}\n\`\`\`\n`,
    ground_truth: {
      public_test_cases: JSON.stringify(tests.slice(0, 1)),
      private_test_cases: packedPickle(JSON.stringify(tests.slice(1))),
      metadata: JSON.stringify({ func_name: isCalled ? 'add' : null }),
    },
    wanted,
    runs,
  }
}

const dataset = Array.from({ length: rows }, (_, at) => rowOf(at))

const children: ChildProcess[] = []
process.once('exit', () => {
  for (const child of children) child.kill('SIGKILL')
})

/** Starts a command of the gateway, which prints its address; `port` 0 selects a free one. */
async function started(args: readonly string[], port = 0): Promise<{ url: string; child: ChildProcess }> {
  const child = spawn('node', ['dist/src/cli/main.js', ...args, '--port', String(port)], {
    env,
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  children.push(child)
  let text = ''
  child.stdout.setEncoding('utf8')
  for await (const piece of child.stdout as AsyncIterable<string>) {
    text += piece
    const url = /http:\/\/[\d.]+:\d+/.exec(text)?.[0]
    if (url === undefined) continue
    child.stdout.on('data', () => {})
    child.stdout.resume()
    return { url, child }
  }
  throw new Error(`${args[0]} ended: ${text}`)
}

const sandboxServer = (port = 0) =>
  started(['sandbox', '--programs', '1', '--key-env', 'SANDBOX_KEY', '--grace-s', '0'], port)

/** In front of a server: says SandboxError while `fails`. */
async function frontOf(url: string) {
  const state = { fails: false, failed: 0 }
  const server = createServer((request, response) => {
    if (state.fails && request.url === '/v1/execute') {
      state.failed += 1
      request.resume()
      response.setHeader('content-type', 'application/json')
      response.end('{"status":"SandboxError","message":"exception on running code","run_result":null}')
      return
    }
    const { method = 'GET', headers } = request
    const on = send(`${url}${request.url}`, { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers)
      answer.pipe(response)
    })
    on.on('error', () => response.destroy())
    response.on('close', () => on.destroy())
    request.pipe(on)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { state, server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

const [killed, failing, healthy] = await Promise.all([sandboxServer(), sandboxServer(), sandboxServer()])
const front = await frontOf(failing.url)
const programs = dataset.flatMap(({ runs }) => runs)
const fusion = await Promise.all(
  [1, 2, 3].map(() => startSimulatedServer({ runner: 'sandbox', programs, latencyMedianMs: 20 })),
)
const folder = mkdtempSync(join(tmpdir(), 'sandbox-outage-'))
writeFileSync(
  join(folder, 'gateway.yaml'),
  JSON.stringify({
    sandboxes: {
      fleet: {
        backend: 'reward-gateway',
        instances: [killed.url, front.url, healthy.url],
        api_key_env: 'SANDBOX_KEY',
      },
      fusion: { backend: 'sandbox-fusion', instances: fusion.map(({ url }) => url) },
    },
  }),
)
for (const sandbox of ['fleet', 'fusion'])
  writeFileSync(
    join(folder, `${sandbox}.yaml`),
    JSON.stringify({ steps: [{ name: 'tests', function: 'code-tests', sandbox }] }),
  )
const gateway = await started(['serve', '--config', folder, '--log-level', 'error'])

interface Result {
  readonly reward: number | null
  readonly failure: { readonly kind: string } | null
}

const began = performance.now()
const elapsed = (): number => (performance.now() - began) / 1000
let isOver = false

/** Scores all rows, and again until the outage is over. */
async function train(reward: string) {
  const counts = new Map<string, number>()
  const wrong: string[] = []
  let next = 0
  const count = (name: string): void => void counts.set(name, (counts.get(name) ?? 0) + 1)
  const loop = async (): Promise<void> => {
    while (next < rows || !isOver) {
      const from = next
      next += batch
      const some = Array.from({ length: batch }, (_, at) => dataset[(from + at) % rows] as Row)
      const samples = some.map(({ response, ground_truth }) => ({ prompt: 'p', response, ground_truth }))
      const reply = await fetch(`${gateway.url}/v1/score`, {
        method: 'POST',
        body: JSON.stringify({ reward, samples }),
        headers: { 'content-type': 'application/json' },
      })
      if (reply.status !== 200) {
        wrong.push(`HTTP ${reply.status}`)
        continue
      }
      const { results } = (await reply.json()) as { results: readonly Result[] }
      for (const [at, { wanted }] of some.entries()) {
        const { reward: given = null, failure = null } = results[at] ?? {}
        const isNamed = given === null && /^(?:sandbox_|overloaded|deadline)/.test(failure?.kind ?? '')
        if (given === wanted) count('right')
        else if (isNamed) count(failure?.kind ?? '')
        else wrong.push(`row ${(from + at) % rows}: ${given} ${failure?.kind}, wanted ${wanted}`)
      }
    }
  }
  await Promise.all(Array.from({ length: trainers }, loop))
  return { reward, counts, wrong }
}

const sleep = (s: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, s * 1000))
const story = (async () => {
  await sleep(3)
  killed.child.kill('SIGKILL')
  fusion[0]?.kill()
  front.state.fails = true
  fusion[1]?.set({ kind: 'sandbox-error' })
  console.log(`${elapsed().toFixed(0)} s: one server of each sandbox is killed, another says SandboxError`)
  await sleep(seconds)
  front.state.fails = false
  fusion[1]?.set()
  await sandboxServer(Number(new URL(killed.url).port))
  fusion[0]?.restart()
  console.log(`${elapsed().toFixed(0)} s: all servers are back`)
  await sleep(10)
  isOver = true
})()
const legs = await Promise.all([train('fleet'), train('fusion'), story])
const metrics = await (await fetch(`${gateway.url}/metrics`)).text()
let failed = false
for (const leg of legs.slice(0, 2)) {
  if (!leg) continue
  const { reward, counts, wrong } = leg
  console.log(
    `${reward}: ${[...counts].map(([name, n]) => `${n} ${name}`).join(', ')}, ${wrong.length} wrong`,
  )
  for (const line of wrong.slice(0, 5)) console.log(`  ${line}`)
  failed ||= wrong.length > 0
}
console.log(
  metrics
    .split('\n')
    .filter((line) => /^reward_gateway_sandbox_(?:retries|ejections|readmissions)_total/.test(line))
    .join('\n'),
)
console.log(
  `SandboxError was said ${front.state.failed} and ${fusion[1]?.stats().faults['sandbox-error'] ?? 0} times`,
)
const ended = once(gateway.child, 'exit')
gateway.child.kill('SIGTERM')
await ended
front.server.close()
front.server.closeAllConnections()
await Promise.all(fusion.map((server) => server.close()))
process.exit(failed ? 1 : 0)

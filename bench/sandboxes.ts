/**
 * Programs for each second of CPU in the local sandbox at 1 to 100 tests, against verl's prime_code in one Python process, and
 * optionally SandboxFusion. CPU time is that of all processes that take part, Node included, so that a busy machine does not
 * count. Prints the confinement and compares the results before the speed.
 *
 *   VERL=FOLDER        a folder with verl/utils/reward_score/prime_code (pip download verl --no-deps; unzip), needs numpy
 *   FUSION=URL         a server of SandboxFusion, and FUSION_PID=PID its process
 *   PYTHON=COMMAND     the interpreter for prime_code; python3 by default
 *   TESTS=1,5,10       numbers of tests; 1, 5, 10, 30 and 100 by default
 */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Execution } from '../src/contract/execution.ts'
import { systemClock } from '../src/core/clock.ts'
import { LocalSandbox } from '../src/scoring/sandboxes/local-sandbox.ts'
import { PooledSandbox } from '../src/scoring/sandboxes/pooled-sandbox.ts'
import type { Sandbox } from '../src/scoring/sandboxes/sandbox.ts'
import { localConfig, serversConfig } from '../src/scoring/sandboxes/sandbox-config.ts'
import { median } from './quantile.ts'

const { VERL, FUSION, FUSION_PID = '', PYTHON = 'python3', TESTS = '1,5,10,30,100' } = process.env
const rounds = 3
const programs = [
  ['right', 'n = int(input())\nprint(n * 2)', 1],
  ['wrong at the end', 'n = int(input())\nprint(n * 2 if n < LAST else 0)', 0],
] as const
const counts = TESTS.split(',').map(Number)

const executionOf = (program: string, tests: number): Execution => ({
  language: 'python',
  program: program.replace('LAST', String(tests - 1)),
  cases: Array.from({ length: tests }, (_, at) => ({ stdin: `${at}\n`, expected: { stdout: `${2 * at}` } })),
  stop: 'first_failure',
})

async function verdict(sandbox: Sandbox, execution: Execution): Promise<number> {
  const deadline = systemClock.now() + 300_000
  const outcome = await sandbox.run({ execution, deadline, signal: new AbortController().signal })
  if ('failure' in outcome) throw new Error(outcome.failure.detail)
  const { cases } = outcome.result
  return Number(cases.length === execution.cases.length && cases.every(({ passed }) => passed))
}

const ticksPerSecond = 100

/** CPU seconds of a process, of its children and of what they waited for. */
function cpuOf(pid: string): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ')
  const own = fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) / ticksPerSecond
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean)
  return children.reduce((sum, child) => sum + cpuOf(child), own)
}

const self = (): number => cpuOf(String(process.pid))

/** Programs for each second of CPU, and for each second by the clock, one after another. */
async function rate(sandbox: Sandbox, tests: number, times: number, cpu = self): Promise<Rate> {
  const [began, started] = [cpu(), performance.now()]
  for (let at = 0; at < times; at++) await verdict(sandbox, executionOf(programs[0][1], tests))
  return { cpu: times / (cpu() - began), wall: (times * 1000) / (performance.now() - started) }
}

interface Rate {
  readonly cpu: number
  readonly wall: number
}

const primeCode = (request: object): unknown =>
  JSON.parse(
    execFileSync(PYTHON, [join(import.meta.dirname, 'prime_code.py'), VERL ?? ''], {
      input: JSON.stringify(request),
      encoding: 'utf8',
      maxBuffer: 1 << 26,
    }),
  )

const local = new LocalSandbox('local', localConfig.parse({ programs: 1 }), systemClock)
console.log((await local.open()).text)
const fusion = FUSION
  ? new PooledSandbox('fusion', serversConfig.parse({ backend: 'sandbox-fusion', instances: [FUSION] }), {
      clock: systemClock,
      events: {},
      env: {},
    })
  : null
for (const [name, program, wanted] of programs) {
  const execution = executionOf(program, 10)
  const said: [string, number][] = [['local', await verdict(local, execution)]]
  if (fusion) said.push(['SandboxFusion', await verdict(fusion, execution)])
  if (VERL) {
    const inputs = execution.cases.map((_, at) => `${at}\n`)
    const outputs = inputs.map((_, at) => `${2 * at}`)
    const request = { program: execution.program, inputs, outputs, times: 1 }
    said.push(['prime_code, all tests', (primeCode(request) as { passed: number }).passed])
  }
  for (const [who, given] of said)
    if (given !== wanted) throw new Error(`${who} gives ${given} for a program that is ${name}`)
  console.log(`${name}: ${said.map(([who, given]) => `${who} ${given}`).join(', ')}`)
}
await rate(local, 1, 50)
for (const tests of counts) {
  const times = Math.max(4, Math.ceil(100 / tests))
  const rates: Record<'local' | 'prime' | 'fusion', Rate[]> = { local: [], prime: [], fusion: [] }
  for (let round = 0; round < rounds; round++) {
    rates.local.push(await rate(local, tests, times))
    if (VERL) {
      const inputs = Array.from({ length: tests }, (_, at) => `${at}\n`)
      const outputs = inputs.map((_, at) => `${2 * at}`)
      const request = { program: programs[0][1], inputs, outputs, times: Math.max(4, Math.ceil(times / 4)) }
      rates.prime.push(primeCode(request) as Rate)
    }
    if (fusion)
      rates.fusion.push(
        await rate(fusion, tests, Math.max(2, Math.ceil(20 / tests)), () => cpuOf(FUSION_PID)),
      )
  }
  const middle = (of: Rate[], kind: keyof Rate) => median(of.map((rate) => rate[kind]))
  const figures = (of: Rate[]) =>
    `${middle(of, 'cpu').toFixed(1)} programs a CPU second, ${middle(of, 'wall').toFixed(1)} a second`
  const against = (name: string, of: Rate[]) =>
    of.length === 0
      ? ''
      : `; ${name} ${figures(of)}, ratio ${(middle(rates.local, 'cpu') / middle(of, 'cpu')).toFixed(2)}`
  const runs = (middle(rates.local, 'cpu') * tests).toFixed(0)
  console.log(
    `${tests} tests: local ${figures(rates.local)}, ${runs} runs a CPU second` +
      against('prime_code', rates.prime) +
      against('SandboxFusion', rates.fusion),
  )
}
local.close()
fusion?.close()

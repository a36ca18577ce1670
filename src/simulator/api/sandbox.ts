/** SandboxFusion's endpoints, as its server at 469de08 has them. No program is run: a script says what it prints. */

import { cyrb53 } from '../../core/hash.ts'
import type { Endpoint, Reply } from '../call.ts'
import { type ScriptedRun, scriptedRun } from '../scripted-runs.ts'

/** GET /v1/ping. */
export const ping: Endpoint = () => ({ text: '"pong"', type: 'application/json' })

const languages = new Set(
  (
    'python cpp nodejs go go_test java php csharp bash typescript sql rust cuda lua R perl D_ut ruby scala julia pytest ' +
    'junit kotlin_script jest verilog python_gpu lean swift racket'
  ).split(' '),
)

/** POST /run_code. */
export const runCode: Endpoint = async (call) => {
  const { model, body, slowdown } = call
  const { code, language, stdin } = body
  const wrong = typeof code !== 'string' ? 'code' : languages.has(String(language)) ? null : 'language'
  if (typeof code !== 'string' || wrong !== null)
    return {
      json: { detail: [{ type: 'invalid', loc: ['body', wrong], msg: 'Input is invalid' }] },
      status: 422,
    }
  const question = cyrb53(`${code}\0${stdin}`)
  const asked = { text: '', tokens: 0, cachedTokens: 0, question, attempt: 0 }
  await model.run(call, model.sequence(asked, 0, slowdown, 0, 'stop'))
  return replyOf(code, typeof stdin === 'string' ? stdin : '', model.options.programs ?? [])
}

function replyOf(code: string, stdin: string, script: readonly ScriptedRun[]): Reply {
  const harness = harnessIn(code)
  const { program, test } = harness ?? { program: code, test: null }
  const run = scriptedRun(script, { program, stdin, test })
  if (run.reply) {
    const { status = 200, body } = run.reply
    return typeof body === 'string'
      ? { text: body, type: 'application/json', status }
      : { json: body as object, status }
  }
  const { ended = 'ok', stdout = '', stderr = '', seconds = 0.01 } = run
  const exitCode = codeOf(run, harness !== null)
  const isLate = ended === 'time'
  const isWhole = harness !== null && !isLate && ended !== 'signal'
  const value = harness?.value(run) ?? ''
  return {
    json: {
      status: exitCode === 0 ? 'Success' : 'Failed',
      message: '',
      compile_result: null,
      run_result: {
        status: isLate ? 'TimeLimitExceeded' : 'Finished',
        execution_time: seconds,
        return_code: isLate ? null : exitCode,
        stdout: isWhole ? `${stdout}\n${harness.tag} ${exitCode === 0 ? value : ''}\n` : stdout,
        stderr: isWhole ? `${stderr}${harness.tag}` : stderr,
      },
      executor_pod_name: null,
      files: {},
    },
  }
}

/** The exit code of a program, or of the gateway's harness, which has its own codes for how the program ended. */
function codeOf({ ended = 'ok', code = 1 }: ScriptedRun, isHarness: boolean): number {
  const own = { ok: 0, exit: code, signal: -11, time: -9 }
  const ofHarness = { exception: 241, memory: 242, missing: 243, compile: 244 }
  const codes: Readonly<Record<string, number>> = { ...own, ...(isHarness && ofHarness) }
  return codes[ended] ?? 1
}

interface Harness {
  readonly program: string
  readonly test: string | null
  /** What ends both streams to show that they are whole. */
  readonly tag: string
  /** The JSON text of the test's value. */
  value(run: ScriptedRun): string
}

/** How the gateway's code begins to run a program, in its last line. */
const head = '\nrun("'

/** The program within the code that the gateway sends. null: another client's code. Linear in the code. */
function harnessIn(code: string): Harness | null {
  const at = code.lastIndexOf(head)
  if (at < 0) return null
  const line = code.slice(at + head.length - 1).split('\n', 1)[0] ?? ''
  const middle = line.indexOf('", json.loads("')
  const end = line.lastIndexOf('"), "')
  const [, tag] = /^"([^"]+)", \d+, (?:True|False)\)$/.exec(line.slice(end + 4)) ?? []
  if (middle < 0 || end < middle || tag === undefined) return null
  try {
    const program = JSON.parse(line.slice(0, middle + 1)) as string
    const given = JSON.parse(JSON.parse(line.slice(middle + 14, end + 1)) as string) as Asked
    const asked = [given.call, given.args, given.value, given.check, given.holds, given.python].filter(
      (text) => text !== undefined,
    )
    return {
      program,
      test: asked.length === 0 ? null : asked.join('\n'),
      tag,
      value: (run) => (asked.length === 0 ? '' : JSON.stringify([given.gives, scriptedValue(given, run)])),
    }
  } catch {
    return null
  }
}

/** What the gateway asks of a program beside its output, or of Python without it. */
interface Asked {
  readonly call?: string
  readonly args?: string
  readonly value?: string
  readonly check?: string
  readonly holds?: string
  readonly python?: string
  /** What `_` of `holds` stands for. */
  readonly on?: unknown
  readonly gives?: string
}

/** A scripted value, as Python's would be written. Of a comparison that the script does not name, JSON decides if it is one. */
function scriptedValue({ holds, python, on }: Asked, run: ScriptedRun): unknown {
  if (holds === undefined || run.value !== undefined) return written(run.value ?? null)
  const [, compared] = /^_ == (.+)$/s.exec(holds) ?? []
  try {
    const wanted = JSON.parse(compared === 'expected' ? (python ?? '') : (compared ?? '')) as unknown
    return JSON.stringify(written(wanted)) === JSON.stringify(on)
  } catch {
    return false
  }
}

/** JSON as case_value.py of the gateway writes Python's values. */
function written(value: unknown): unknown {
  if (typeof value === 'number' && !Number.isInteger(value)) return { float: String(value) }
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(written)
  return { dict: Object.entries(value).map(([key, one]) => [key, written(one)]) }
}

/** What a faulty SandboxFusion answers. `half-output`: its output lacks the end, as of a server that reads too short a time. */
export function spoiledRun(kind: 'sandbox-error' | 'half-output', reply: object): object {
  if (kind === 'sandbox-error')
    return { ...reply, status: 'SandboxError', message: 'exception on running code', run_result: null }
  const { run_result: run } = reply as { run_result?: { stdout?: string } | null }
  const stdout = run?.stdout ?? ''
  return { ...reply, run_result: { ...run, stdout: stdout.slice(0, stdout.length / 2) } }
}

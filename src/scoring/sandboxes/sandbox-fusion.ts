/**
 * Servers of SandboxFusion: each case is a request to /run_code. What an answer means was read in its server (469de08,
 * sandbox/runners/base.py) and tried on it.
 */

import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { inflateSync } from 'node:zlib'
import type { CaseResult, Execution, ProgramCase } from '../../contract/execution.ts'
import { isObject, type JsonObject, malformedReply } from '../models/transport/reply.ts'
import type { Reply } from '../models/transport/transport.ts'
import { UpstreamError } from '../models/transport/upstream-error.ts'
import {
  type Answer,
  aloneInput,
  type CaseMessage,
  type Comparison,
  inputOf,
  isEvaluated,
  limitsOf,
  NoExpectedValue,
  Report,
  resultOf,
  unsealed,
} from './case-result.ts'
import { sameValues } from './compare.ts'
import { Excerpts } from './excerpts.ts'
import { mayStop, objectIn, type SandboxBackend, type SandboxQuestion } from './sandbox-server.ts'
import { zygoteFile } from './zygote.ts'

type Limits = ReturnType<typeof limitsOf>

/** SandboxFusion's servers. They have no isolation of their own but their container (`isolation: none`, its default). */
export const sandboxFusion: SandboxBackend = {
  confinement:
    'of SandboxFusion, which confine them as they were installed: by their container alone, by default',
  watched: {
    healthPath: '/v1/ping',
    modelsPath: '',
    namesModels: false,
    tokenCounters: [],
    queueMetrics: null,
    ping: { method: 'GET', path: '/v1/ping', body: null },
  },
  async run(given, clock, ask, hasExcerpts) {
    const { program, setup = '', cases, limits: wished, stop, report } = given
    const excerpts = hasExcerpts ? new Excerpts() : null
    const limits = limitsOf(wished ?? {})
    const execution: Execution = { language: 'python', program, cases, ...(stop && { stop }) }
    const wanted = new Map<string, unknown>()
    const plain = { wantsLength: 0, keepsOutput: false }
    for (const { expected } of cases) {
      if (!isEvaluated(expected) || wanted.has(expected.python)) continue
      const answer = await ask(
        question(setup, aloneInput(expected.python), { ...plain, limits: limitsOf({}) }),
      )
      if (answer === null || answer.ended !== 'ok' || !sameValues(answer.value, answer.value))
        throw new NoExpectedValue()
      wanted.set(expected.python, answer.value)
    }
    const comparison: Comparison = {
      wanted,
      setup,
      ask: async (input) => (await ask(question('', input, { ...plain, limits }))) as Answer,
    }
    const until = clock.now() + limits.totalSeconds * 1000
    const results: CaseResult[] = []
    const reported = new Report(report)
    const size = stop === undefined || stop === 'never' ? casesAtOnce : 1
    for (let at = 0; at < cases.length && clock.now() < until; at += size) {
      const some = cases.slice(at, at + size).map(async (one) => {
        const input = inputOf(one)
        const keepsOutput = 'stdin' in one || report === 'outputs'
        const answer = await ask(
          question(program, input, { limits, wantsLength: expectedLength(one, report), keepsOutput }),
        )
        return { answer, result: answer && (await resultOf(answer, one, input, comparison)) }
      })
      for (const { answer, result } of await Promise.all(some)) {
        if (answer === null || result === null) return { result: { compiled: false, cases: [] } }
        excerpts?.add(answer, result)
        results.push(reported.of(answer, result))
      }
      if (mayStop(execution, results)) break
    }
    return { result: { compiled: true, cases: results }, excerpts: excerpts?.cases }
  },
}

/** Cases of a program under way at once, if all of them are run. */
const casesAtOnce = 8

/** Characters that what a case gives must have at least to pass. null: no bound is known. */
function expectedLength({ expected }: ProgramCase, report: Execution['report']): number | null {
  if (report === 'outputs') return null
  if (expected && 'exact' in expected) return expected.exact.trimEnd().length
  if (expected && 'stdout' in expected) return expected.stdout.trim().length / 4
  return expected && 'json' in expected ? expected.json.length * 6 : 0
}

interface Asking {
  readonly limits: Limits
  /** Of a case whose output is compared. null: no bound is known. */
  readonly wantsLength: number | null
  /** Whether standard output is compared or told. */
  readonly keepsOutput: boolean
}

function question(
  program: string,
  input: CaseMessage,
  { limits, wantsLength, keepsOutput }: Asking,
): SandboxQuestion<Answer | null> {
  const tag = randomUUID()
  const { memory_mb, output_bytes: outputBytes } = limits.message
  const { stdin, ...rest } = input
  const asked = [program, JSON.stringify(rest), tag].map(pythonText)
  return {
    path: '/run_code',
    body: JSON.stringify({
      language: 'python',
      code: `${harness()}run(${asked[0]}, json.loads(${asked[1]}), ${asked[2]}, ${outputBytes}, ${keepsOutput ? 'True' : 'False'})\n`,
      stdin: stdin ?? '',
      run_timeout: limits.wallSeconds,
      compile_timeout: limits.wallSeconds,
      memory_limit_MB: memory_mb + harnessMb,
    }),
    seconds: limits.wallSeconds,
    read: (reply) => readAnswer(reply, { tag, input, outputBytes, wantsLength }),
  }
}

/** Memory that an interpreter with the names of the prelude takes. */
const harnessMb = 256
/** Characters that fusion_harness.py writes as they are. */
const plainCharacters = 60_000

interface Asked {
  /** What ends both streams. */
  readonly tag: string
  readonly input: CaseMessage
  readonly outputBytes: number
  readonly wantsLength: number | null
}

/** null: the program does not compile. Throws UpstreamError if the service failed, or if its answer leaves open what the program did. */
function readAnswer(reply: Reply, { tag, input, outputBytes, wantsLength }: Asked): Answer | null {
  const { status, run_result: run } = objectIn(reply)
  if (status === 'SandboxError')
    throw new UpstreamError('judge_unreachable', 'the server reported SandboxError', { isAboutContent: true })
  if ((status !== 'Success' && status !== 'Failed') || !isObject(run)) throw malformedReply('no run_result')
  const { status: how, return_code: code, execution_time: seconds } = run
  const [stdout, stderr] = [textOf(run, 'stdout'), textOf(run, 'stderr')]
  const [said = ''] = stderr.split(tag, 1)
  const time = typeof seconds === 'number' ? seconds : 0
  const none = { stdout: '', stderr: said, cpu_s: time, wall_s: time }
  if (how === 'TimeLimitExceeded') return { ...none, ended: 'time' }
  if (how !== 'Finished' || typeof code !== 'number')
    throw malformedReply('a run that neither finished nor was late')
  if (!stderr.includes(tag)) {
    // The program has ended the process that watched it, or wrote to its streams.
    if (code < 0 || code >= 128) return { ...none, ended: 'signal' }
    if (isUndecoded(stderr)) return { ...none, ended: 'tampered' }
    throw malformedReply('the end of its output is missing')
  }
  if (code === compileCode) return null
  const { printed, value } = streamOf(stdout, tag, outputBytes)
  const answer = { ...none, stdout: printed ?? '' }
  if (code === tooLongCode) {
    if (wantsLength !== null && wantsLength < plainCharacters) return { ...answer, ended: 'output' }
    throw new UpstreamError('judge_timeout', 'the server does not carry outputs of this length', {
      remedy: 'give-up',
      blame: false,
    })
  }
  if (code !== 0) return { ...answer, ended: codes.get(code) ?? 'exit' }
  if (printed === null) return { ...answer, ended: 'tampered' }
  if (value === undefined) {
    if (isUndecoded(stdout)) return { ...answer, ended: 'tampered' }
    throw malformedReply('the end of its output is missing')
  }
  try {
    return unsealed({ ...answer, ended: 'ok', ...(value !== '\n' && { value: JSON.parse(value) }) }, input)
  } catch {
    return { ...answer, ended: 'tampered' }
  }
}

/** What the server says of bytes that are no UTF-8, which the harness does not write. */
const isUndecoded = (text: string): boolean => text.startsWith('[DecodeError]')

/** What a program printed, and the value behind the tag. `printed` null: the program wrote that itself. */
function streamOf(stdout: string, tag: string, outputBytes: number) {
  const at = stdout.indexOf(`\n${tag}`)
  if (at < 0) return { printed: stdout, value: undefined }
  const isPacked = stdout.startsWith('z', at + 1 + tag.length)
  const [printed, value] = [stdout.slice(0, at), stdout.slice(at + 2 + tag.length + Number(isPacked))]
  if (!isPacked) return { printed, value }
  const unpacked = (text: string): string =>
    inflateSync(Buffer.from(text, 'base64'), { maxOutputLength: 4 * outputBytes + 64 }).toString()
  try {
    return { printed: unpacked(printed), value: `${unpacked(value)}\n` }
  } catch {
    return { printed: null, value: undefined }
  }
}

function textOf(run: JsonObject, name: 'stdout' | 'stderr'): string {
  const text = run[name] ?? ''
  if (typeof text !== 'string') throw malformedReply(`${name} is no text`)
  return text
}

const [compileCode, tooLongCode] = [244, 247]
/** How a case ended, by the exit code of fusion_harness.py. */
const codes: ReadonlyMap<number, Answer['ended']> = new Map([
  [241, 'exception'],
  [242, 'memory'],
  [243, 'missing'],
  [245, 'signal'],
  [246, 'output'],
  [248, 'unknown'],
])

let sent: string | null = null

/** What is sent before a program: names that programs expect, how a value is asked for and written, and how a program is run. */
function harness(): string {
  const text = (name: string): string => readFileSync(new URL(name, pathToFileURL(zygoteFile)), 'utf8')
  sent ??= `${text('case_value.py')}\n${text('fusion_harness.py')}\n`
  return sent
}

/** A Python literal: JSON's escapes are Python's as well. */
const pythonText = (text: string): string => JSON.stringify(text)

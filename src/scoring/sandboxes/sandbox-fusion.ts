/**
 * Servers of SandboxFusion: each case is a request to /run_code. What an answer means was read in its server (469de08,
 * sandbox/runners/base.py) and tried on it.
 */

import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import type { CaseEnd, CaseResult, Execution, ProgramCase } from '../../contract/execution.ts'
import { isObject, type JsonObject, malformedReply } from '../models/transport/reply.ts'
import type { Reply } from '../models/transport/transport.ts'
import { UpstreamError } from '../models/transport/upstream-error.ts'
import {
  type Answer,
  aloneInput,
  type CaseMessage,
  inputOf,
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
    for (const { expected } of cases) {
      if (!expected || !('python' in expected) || wanted.has(expected.python)) continue
      const answer = await ask(question(setup, aloneInput(expected.python), limitsOf({}), null))
      if (answer === null || answer.ended !== 'ok' || !sameValues(answer.value, answer.value))
        throw new NoExpectedValue()
      wanted.set(expected.python, answer.value)
    }
    const until = clock.now() + limits.totalSeconds * 1000
    const results: CaseResult[] = []
    const reported = new Report(report)
    const size = stop === undefined || stop === 'never' ? casesAtOnce : 1
    for (let at = 0; at < cases.length && clock.now() < until; at += size) {
      const some = cases.slice(at, at + size).map(async (one) => {
        const input = inputOf(one)
        return { one, input, answer: await ask(question(program, input, limits, expectedLength(one))) }
      })
      for (const { one, input, answer } of await Promise.all(some)) {
        if (answer === null) return { result: { compiled: false, cases: [] } }
        const result = resultOf(answer, one, input, wanted)
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

/** Characters that standard output must have at least to pass. null: no bound is known. */
function expectedLength({ expected }: ProgramCase): number | null {
  if (expected && 'exact' in expected) return expected.exact.trimEnd().length
  return expected && 'stdout' in expected ? expected.stdout.trim().length / 4 : null
}

function question(
  program: string,
  input: CaseMessage,
  limits: Limits,
  wantsLength: number | null,
): SandboxQuestion<Answer | null> {
  const tag = randomUUID()
  const { memory_mb, output_bytes: outputBytes } = limits.message
  return {
    path: '/run_code',
    body: JSON.stringify({
      language: 'python',
      code: harness(program, input, tag),
      stdin: input.stdin ?? '',
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

/** A longer text may be all that a server read of a program which waits for its pipe, and then counts as late. */
const pipeCharacters = 60_000

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
  const { status: ended, return_code: code, execution_time: seconds } = run
  const [stdout, stderr] = [textOf(run, 'stdout'), textOf(run, 'stderr')]
  const [printed = '', value] = stdout.split(`\n${tag} `, 2)
  const [said = ''] = stderr.split(tag, 1)
  const answer = { stdout: printed, stderr: said, cpu_s: typeof seconds === 'number' ? seconds : 0 }
  if (ended === 'TimeLimitExceeded') {
    // The server reads what a program printed only after its end, so that a long output blocks and looks slow.
    if (stdout.length >= pipeCharacters && (wantsLength === null || wantsLength >= pipeCharacters))
      throw new UpstreamError('judge_timeout', 'the server does not read outputs of this length')
    return { ...answer, ended: 'time' }
  }
  if (ended !== 'Finished' || typeof code !== 'number')
    throw malformedReply('a run that neither finished nor was late')
  const isWhole = stderr.includes(tag)
  if (!isWhole) {
    if (code < 0 || code >= 128) return { ...answer, ended: 'signal' }
    throw malformedReply('the end of its output is missing')
  }
  if (code === compileCode) return null
  if (printed.length > outputBytes) return { ...answer, ended: 'output' }
  if (code !== 0) return { ...answer, ended: codes.get(code) ?? 'exit' }
  if (stdout.startsWith('[DecodeError]')) return { ...answer, ended: 'ok' }
  if (value === undefined) throw malformedReply('the end of its output is missing')
  try {
    return unsealed(
      { ...answer, ended: 'ok', ...(value !== '\n' && { value: JSON.parse(value) as unknown }) },
      input,
    )
  } catch {
    return { ...answer, ended: 'tampered' }
  }
}

function textOf(run: JsonObject, name: 'stdout' | 'stderr'): string {
  const text = run[name] ?? ''
  if (typeof text !== 'string') throw malformedReply(`${name} is no text`)
  return text
}

const compileCode = 244
/** How a case ended, by the exit code of the harness. */
const codes: ReadonlyMap<number, CaseEnd> = new Map([
  [241, 'exception'],
  [242, 'memory'],
  [243, 'missing'],
])

/** Names that programs expect, and how a value is asked for and written. */
let asking: string | null = null

/**
 * A Python program that runs another one on a case as zygote.py does, writes the value behind what was printed, and ends both
 * streams with a tag that shows that they are whole. The program may learn the tag; it could only lose by that.
 */
function harness(program: string, input: CaseMessage, tag: string): string {
  asking ??= readFileSync(new URL('case_value.py', pathToFileURL(zygoteFile)), 'utf8')
  const { stdin, ...rest } = input
  return `import builtins, json, os, sys, threading, traceback
${asking}
def run():
    source, case, tag = ${pythonText(program)}, json.loads(${pythonText(JSON.stringify(rest))}), ${pythonText(tag)}
    write, leave, dumps, to_encode = os.write, os._exit, json.dumps, encode
    wait, explain, flush_out, flush_err = threading._shutdown, traceback.format_exc, sys.stdout.flush, sys.stderr.flush
    def put(fd, text):
        data = text.encode("utf-8", "surrogatepass")
        while data:
            data = data[write(fd, data):]
    def end(code, value=""):
        try:
            flush_out()
            flush_err()
        except BaseException:
            code = code or 241
        put(1, "\\n" + tag + " " + value + "\\n")
        put(2, tag)
        leave(code & 0xFF)
    names = add_prelude()
    try:
        code = compile(source, "program.py", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError):
        end(244)
    os._exit = end
    sys.argv = ["program.py"]
    sys.setrecursionlimit(600000)
    value = ""
    try:
        exec(code, names)
        if ${'stdin' in input ? 'False' : 'True'}:
            value = dumps([case["gives"], to_encode(value_of(case, names))])
        wait()
    except SystemExit as stop:
        number = exit_code(stop, sys.stderr)
        end(241 if case and number == 0 else number)
    except MemoryError:
        end(242)
    except LookupMissing as error:
        sys.stderr.write(str(error))
        end(243)
    except BaseException:
        try:
            sys.stderr.write(explain(limit=-8))
        except BaseException:
            pass
        end(241)
    end(0, value)
run()
`
}

/** A Python literal: JSON's escapes are Python's as well. */
const pythonText = (text: string): string => JSON.stringify(text)

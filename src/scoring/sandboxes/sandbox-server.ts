/** How kinds of sandbox servers are asked, and what their answers mean. */

import { z } from 'zod'
import type { CaseEnd, CaseResult, Execution } from '../../contract/execution.ts'
import type { Clock } from '../../core/clock.ts'
import type { Json } from '../../core/sample/sample.ts'
import type { WatchedServer } from '../models/backends/backend.ts'
import { isObject, type JsonObject, malformedReply, refusal } from '../models/transport/reply.ts'
import type { Reply } from '../models/transport/transport.ts'
import { UpstreamError } from '../models/transport/upstream-error.ts'
import { NoExpectedValue } from './case-result.ts'
import { type CaseExcerpts, longestExcerpt } from './excerpts.ts'
import type { Ran } from './sandbox.ts'

/** One request to a server. */
export interface SandboxQuestion<T> {
  readonly path: string
  readonly body: string
  /** Seconds that the server may need by the program's own limits. */
  readonly seconds: number
  /** Throws UpstreamError if the server failed. What the program did never is an error. */
  read(reply: Reply): T
}

/** A kind of sandbox server. */
export interface SandboxBackend {
  readonly watched: WatchedServer
  /** What confines programs there, after 'programs run on N servers'. */
  readonly confinement: string
  /** Makes the requests that a program needs. Rejects with what `ask` rejects with. `hasExcerpts`: somebody looks at the cases. */
  run(
    execution: Execution,
    clock: Clock,
    ask: <T>(question: SandboxQuestion<T>) => Promise<T>,
    hasExcerpts: boolean,
  ): Promise<Ran>
}

/** Seconds that compiling may take. */
const compileSeconds = 30
const cppCompileSeconds = 75

/** Servers that `reward-gateway sandbox` starts: a program with all of its cases is one request. */
export const ownServers: SandboxBackend = {
  confinement: 'of reward-gateway sandbox, each of which confines them or does not start',
  watched: {
    healthPath: '/health',
    modelsPath: '',
    namesModels: false,
    tokenCounters: [],
    queueMetrics: { running: 'reward_gateway_sandbox_in_flight', waiting: 'reward_gateway_sandbox_waiting' },
    ping: { method: 'GET', path: '/health', body: null },
  },
  run: (execution, _clock, ask, hasExcerpts) =>
    ask({
      // A server that does not know it, yet, leaves it out.
      path: hasExcerpts ? '/v1/execute?excerpts=true' : '/v1/execute',
      body: JSON.stringify(writeExecution(execution)),
      seconds:
        (execution.limits?.totalSeconds ?? 60) +
        (execution.language === 'cpp' ? cppCompileSeconds : compileSeconds),
      read: (reply) => readResult(reply, execution),
    }),
}

/** The body of POST /v1/execute. */
function writeExecution({ limits = {}, ...execution }: Execution): object {
  return {
    ...execution,
    limits: {
      cpu_s: limits.cpuSeconds,
      wall_s: limits.wallSeconds,
      total_s: limits.totalSeconds,
      memory_mb: limits.memoryMb,
      output_mb: limits.outputMb,
    },
  }
}

const ends: ReadonlySet<unknown> = new Set<CaseEnd>([
  'ok',
  'exception',
  'exit',
  'signal',
  'time',
  'memory',
  'output',
  'missing',
  'tampered',
])

/** Whether a program's other cases need not run after these. */
export function mayStop({ stop }: Execution, cases: readonly CaseResult[]): boolean {
  if (stop === 'first_failure') return cases.at(-1)?.passed === false
  return stop === 'first_passes' && cases[0]?.passed === true
}

/** Throws UpstreamError for a reply that is no whole result of this program. */
function readResult(reply: Reply, execution: Execution): Ran {
  const { cases: asked, report } = execution
  if (reply.status === 422 && reply.text.includes('"bad_sample"'))
    throw new UpstreamError('bad_sample', new NoExpectedValue().message, { remedy: 'give-up', blame: false })
  const body = objectIn(reply)
  const { compiled, cases, out_of_time: isOutOfTime } = body
  if (typeof compiled !== 'boolean' || !Array.isArray(cases)) throw malformedReply('no result of a program')
  const results = cases.map((one) => readCase(one, report === 'outputs'))
  const isWhole =
    !compiled || results.length === asked.length || isOutOfTime === true || mayStop(execution, results)
  if (!isWhole || results.length > (compiled ? asked.length : 0)) throw malformedReply('cases are missing')
  return { result: { compiled, cases: results }, excerpts: readExcerpts(body.excerpts, results.length) }
}

const excerpt = z.object({ text: z.string().max(longestExcerpt), chars: z.int().min(0) })
const caseExcerpts = z.array(
  z.object({
    wallSeconds: z.number().nullable(),
    stdout: excerpt,
    stderr: excerpt,
    value: excerpt.nullable(),
  }),
)

/** Nobody's reward depends on them: excerpts of another form are left out. */
function readExcerpts(value: unknown, count: number): readonly CaseExcerpts[] | undefined {
  const { data } = caseExcerpts.safeParse(value)
  return data?.length === count ? data : undefined
}

function readCase(value: unknown, hasOutputs: boolean): CaseResult {
  if (!isObject(value)) throw malformedReply('a case is no object')
  const { ended, passed, error, cpu_s: cpuSeconds, wall_s: wall, stdout } = value
  if (
    !ends.has(ended) ||
    typeof passed !== 'boolean' ||
    (passed && ended !== 'ok') ||
    typeof error !== 'string' ||
    typeof cpuSeconds !== 'number' ||
    (hasOutputs && typeof stdout !== 'string')
  )
    throw malformedReply('a case has no result')
  return {
    ended: ended as CaseEnd,
    passed,
    error: error.slice(0, 200),
    cpuSeconds,
    wallSeconds: typeof wall === 'number' ? wall : null,
    ...(hasOutputs && { stdout: stdout as string }),
    ...(hasOutputs && value.value !== undefined && { value: value.value as Json }),
  }
}

/** The JSON object of a reply with status 200. Throws UpstreamError. */
export function objectIn(reply: Reply): JsonObject {
  if (reply.status !== 200) throw refusal(reply)
  let body: unknown
  try {
    body = JSON.parse(reply.text)
  } catch {
    throw malformedReply('not JSON')
  }
  if (!isObject(body)) throw malformedReply('not a JSON object')
  return body
}

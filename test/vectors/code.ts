import codeTests from '../../reward-functions/code-tests.ts'
import type { Json, Score } from '../../src/contract/index.ts'
import { row } from '../../src/contract/testing.ts'
import { systemClock } from '../../src/core/clock.ts'
import { openInstructScore, publishedProgram } from '../../src/grading/published-code.ts'
import { checkExecution } from '../../src/scoring/functions/worker/check-execution.ts'
import { LocalSandbox } from '../../src/scoring/sandboxes/local-sandbox.ts'
import { PooledSandbox } from '../../src/scoring/sandboxes/pooled-sandbox.ts'
import type { Sandbox } from '../../src/scoring/sandboxes/sandbox.ts'
import { localConfig, serversConfig } from '../../src/scoring/sandboxes/sandbox-config.ts'
import { type ScriptedRun, startSimulatedServer } from '../../src/simulator/index.ts'
import { type Adapter, raises, type Vector } from './vector.ts'

interface Expected {
  readonly score?: Json
  readonly results?: readonly Json[] | null
  readonly all_at_once?: readonly Json[] | null
  readonly per_test?: readonly Json[] | null
}

let sandbox: LocalSandbox | null = null

/** Scores as the gateway does: preprocess, run, postprocess. */
async function scored(
  response: string,
  groundTruth: unknown,
  options: object,
  mode: 'published' | 'strict' = 'published',
  pool?: Sandbox,
): Promise<Score> {
  const built = row(codeTests, {
    response,
    groundTruth: groundTruth as Json,
    options: { mode, ...options } as Json,
  })
  const made = codeTests.rm_preprocess(built)
  if (typeof made === 'number' || !('cases' in made)) return made as Score
  if (!pool) sandbox ??= new LocalSandbox('vectors', localConfig.parse({ programs: 1 }), systemClock)
  const request = { deadline: systemClock.now() + 600_000, signal: new AbortController().signal }
  const outcome = await (pool ?? (sandbox as LocalSandbox)).run({
    execution: checkExecution(made),
    ...request,
  })
  if ('failure' in outcome) throw new Error(outcome.failure.detail)
  return codeTests.rm_postprocess(outcome.result, built) as Score
}

interface HttpAnswer {
  readonly http: number
  readonly body: {
    readonly status?: string
    readonly run_result?: {
      readonly status?: string
      readonly return_code?: number | null
      readonly stdout?: string | null
    } | null
  }
}

/**
 * Whether an answer tells what the program did. The original counts all others as failed tests; here the sample is invalid.
 * Others are: HTTP errors, no JSON, SandboxError, an unknown status, no run_result, a run that neither finished nor was late
 * (the server then says SandboxError), `Failed` with exit code 0, `Success` with another, and a compiler's failure, since
 * Python has none.
 */
function isVerdict({ http, body }: HttpAnswer): boolean {
  const { status, run_result: run } = body
  if (http !== 200 || run?.status !== 'Finished' || typeof run.stdout !== 'string') return false
  return status === (run.return_code === 0 ? 'Success' : 'Failed')
}

/** A simulated SandboxFusion gives the answers, which the gateway's own back end reads. */
async function scoredByAnswers({ input }: Vector): Promise<number> {
  const { inputs } = input.test_cases as { readonly inputs: readonly string[] }
  const programs = (input.answers as readonly HttpAnswer[]).map((answer, at): ScriptedRun => {
    const { http, body } = answer
    const stdin = inputs[at] ?? ''
    if (!isVerdict(answer)) return { stdin, reply: { status: http, body } }
    const { return_code: code, stdout } = body.run_result ?? {}
    return { stdin, stdout: stdout ?? '', ...(code && { ended: 'exit', code }) }
  })
  const server = await startSimulatedServer({ programs })
  const config = serversConfig.parse({
    backend: 'sandbox-fusion',
    instances: [server.url],
    retry: { max: 0 },
    breaker: { failures: 1000 },
    health: { interval_s: 0 },
  })
  const pool = new PooledSandbox('fusion', config, { clock: systemClock, events: {}, env: {} })
  try {
    const options = { score: 'share', compare: 'exact', tests: input.continuous ? { first: 10 } : 'all' }
    return (await scored(String(input.completion), input.test_cases, options, 'strict', pool)).value
  } finally {
    pool.close()
    await server.close()
  }
}

const fenced = (code: unknown): string => `\`\`\`\n${code}\n\`\`\``

/** The error code that LiveCodeBench names beside its results. */
const errorOf = (results: readonly Json[]): Json => {
  const last = results.at(-1)
  return last === true || last === undefined ? null : last === false ? -2 : last
}

async function openInstructRun({ input }: Vector): Promise<unknown> {
  const prediction = String(input.prediction)
  const options = {
    grader: 'open_instruct',
    limit_s: input.max_execution_time,
    threshold: input.pass_rate_reward_threshold,
  }
  const score = await scored(prediction, input.label, options)
  return {
    program: publishedProgram(prediction, 'open_instruct', 'chat'),
    results: score.details?.results ?? null,
    score: score.value,
  }
}

const openInstructOf = ({ input }: Vector): number =>
  openInstructScore(input.results as number[], input.runtimes as number[], Number(input.max_execution_time), {
    threshold: Number(input.pass_rate_reward_threshold),
    penalty: input.apply_perf_penalty === true,
  })

export const codeVectors: Adapter = {
  answers: {
    async prime_code({ input, expected }) {
      const score = await scored(String(input.completion), input.test_cases, { grader: 'prime_code' })
      const { results = null, one_by_one = null } = score.details ?? {}
      const told = { all_at_once: results, per_test: one_by_one }
      // verl's dispatch always asks for a share; without it, the original raises after a wrong first pass.
      const { all_at_once } = expected as Expected
      if (input.continuous === true || all_at_once?.every((one) => one === true))
        return { score: score.value, ...told }
      return { all_at_once: results }
    },
    async livecodebench({ input }) {
      const score = await scored(fenced(input.code), input.input_output, { grader: 'livecodebench' })
      const results = (score.details?.results ?? [-4]) as readonly Json[]
      return { results, error_code: errorOf(results), passed: score.value === 1 }
    },
    async sandbox_fusion(vector) {
      const { input } = vector
      if (vector.function === 'sandbox_fusion_answers') return scoredByAnswers(vector)
      const options = { grader: 'sandbox_fusion', limit_s: 1 }
      const score = await scored(String(input.completion), input.test_cases, options)
      const results = score.details?.results ?? null
      return hasFusionScore(vector) ? { score: score.value, results } : { results }
    },
    livecodebench_extract: ({ input }) =>
      publishedProgram(String(input.model_output), 'livecodebench', input.style as 'chat'),
    open_instruct_code: (vector) =>
      vector.function === 'open_instruct_code_score' ? openInstructOf(vector) : openInstructRun(vector),
  },
  wanted,
  close() {
    sandbox?.close()
    sandbox = null
  },
}

/** verl's dispatch always scores the first ten tests, so the others are not run. */
const hasFusionScore = ({ input, expected }: Vector): boolean =>
  input.continuous === true || ((expected as Expected).results?.length ?? 0) <= 10

/** What the original told, as far as the answer does. */
function wanted(vector: Vector): unknown {
  const { expected } = vector
  if (vector.function === 'sandbox_fusion_answers') {
    const answers = vector.input.answers as readonly HttpAnswer[]
    const { score } = expected as Expected
    const { outputs } = vector.input.test_cases as { readonly outputs: readonly unknown[] }
    // Where no output is expected, the original pays any success.
    return answers.every(isVerdict) && outputs.every((one) => typeof one === 'string') ? score : raises
  }
  if (vector.function === 'sandbox_fusion') {
    const { score, results } = expected as Expected
    const counted = results?.slice(0, 10) ?? null
    return hasFusionScore(vector) ? { score, results: counted } : { results: counted }
  }
  if (vector.function !== 'prime_code') return expected
  const { all_at_once = null, per_test = null } = expected as Expected
  const isShare = vector.input.continuous === true || all_at_once?.every((one) => one === true)
  return isShare ? { score: (expected as { score: Json }).score, all_at_once, per_test } : { all_at_once }
}

import codeTests from '../../reward-functions/code-tests.ts'
import type { Json, Score } from '../../src/contract/index.ts'
import { row } from '../../src/contract/testing.ts'
import { systemClock } from '../../src/core/clock.ts'
import { openInstructScore, publishedProgram } from '../../src/grading/published-code.ts'
import { checkExecution } from '../../src/scoring/functions/worker/check-execution.ts'
import { LocalSandbox } from '../../src/scoring/sandboxes/local-sandbox.ts'
import { localConfig } from '../../src/scoring/sandboxes/sandbox-config.ts'
import type { Adapter, Vector } from './vector.ts'

interface Expected {
  readonly all_at_once?: readonly Json[] | null
  readonly per_test?: readonly Json[] | null
}

let sandbox: LocalSandbox | null = null

/** Scores as the gateway does: preprocess, run, postprocess. */
async function scored(response: string, groundTruth: unknown, options: object): Promise<Score> {
  const built = row(codeTests, {
    response,
    groundTruth: groundTruth as Json,
    options: { mode: 'published', ...options } as Json,
  })
  const made = codeTests.rm_preprocess(built)
  if (typeof made === 'number' || !('cases' in made)) return made as Score
  sandbox ??= new LocalSandbox('vectors', localConfig.parse({ programs: 1 }), systemClock)
  const request = { deadline: systemClock.now() + 600_000, signal: new AbortController().signal }
  const outcome = await sandbox.run({ execution: checkExecution(made), ...request })
  if ('failure' in outcome) throw new Error(outcome.failure.detail)
  return codeTests.rm_postprocess(outcome.result, built) as Score
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

/** What the original told, as far as the answer does. */
function wanted(vector: Vector): unknown {
  const { expected } = vector
  if (vector.function !== 'prime_code') return expected
  const { all_at_once = null, per_test = null } = expected as Expected
  const isShare = vector.input.continuous === true || all_at_once?.every((one) => one === true)
  return isShare ? { score: (expected as { score: Json }).score, all_at_once, per_test } : { all_at_once }
}

import { z } from 'zod'
import {
  aggregateSteps,
  type Generation,
  type Range,
  type StepAggregate,
  stepAggregate,
  toolCallsOf,
} from '../../contract/index.ts'
import { checkedSteps } from '../../contract/steps.ts'
import type { Problem } from '../../core/errors.ts'
import type { FailureKind, Json, Sample } from '../../core/sample/sample.ts'
import { chatMessage } from '../../trainers/chat/rollout.ts'
import { MalformedMessage, objectOf, textOf } from './frames.ts'
import type { Call, CallResult } from './function-host.ts'
import type { FunctionJob, JobResult } from './job.ts'
import { ContractViolation, checkQuestion, checkVerdict } from './worker/check-results.ts'
import { flagged } from './worker/run-job.ts'

/** The reply of a Python process to one job; one of the keys says which kind. */
interface PythonReply {
  readonly kind?: 'rule' | 'model'
  readonly bound?: true
  readonly verdict?: unknown
  readonly question?: unknown
  /** Loading or choosing the function failed. */
  readonly refused?: string
  /** The row's ground truth cannot be read. */
  readonly unfit?: string
  /** The function returned neither a verdict nor a question. */
  readonly odd?: string
  /** The exception's class and place; `traceback` may quote the sample. */
  readonly threw?: string
  readonly traceback?: string
  /** A coroutine was cancelled at the time limit. */
  readonly late?: true
}

const longestText = 65_536

/** Checks the strings of a reply; `resultOf` checks verdicts and questions. Throws MalformedMessage. */
export function readPythonReply(encoded: unknown): PythonReply {
  const { kind, bound, verdict, question, late, ...texts } = objectOf(encoded, 'a reply is not an object')
  const read: Record<string, unknown> = { verdict, question }
  if (kind === 'rule' || kind === 'model') read.kind = kind
  if (bound === true) read.bound = true
  if (late === true) read.late = true
  for (const key of ['refused', 'unfit', 'odd', 'threw', 'traceback'])
    if (texts[key] !== undefined)
      read[key] = textOf(texts[key], longestText, 'a text of a reply is not a string')
  return read
}

/** Encodes a job for the Python host. */
export function pythonJob(job: FunctionJob): object {
  if (job.type !== 'call') return job
  const { sample, earlier } = job.rows[0] ?? {}
  const prompt = sample?.prompt
  return {
    type: 'call',
    name: job.name,
    options: job.options,
    op: job.op,
    row: {
      prompt: typeof prompt === 'object' ? prompt.map(chatMessage) : prompt,
      response: sample?.response,
      ground_truth: sample?.groundTruth,
      data_source: sample?.dataSource ?? '',
      extra_info: sample?.extraInfo,
      rm_prompt: sample?.rmPrompt ?? null,
      ...(sample && furtherFields(sample)),
      earlier: earlier ?? {},
    },
    ...(job.op === 'postprocess' && { text: (job.answer as Generation).text }),
  }
}

/** What most rows do not have. */
function furtherFields(sample: Sample): object {
  const { id, turns, segments, status, tokens, policyVersion, environment, group, rmPrompts } = sample
  return {
    sample_id: id,
    rm_prompts: rmPrompts,
    ...(turns && { turns: turns.map(chatMessage), tool_calls: toolCallsOf(sample) }),
    ...(segments && { segments }),
    ...(group && { group }),
    ...(status !== undefined && { status }),
    ...(tokens && { tokens }),
    ...(policyVersion && { policy_version: policyVersion }),
    ...(environment && { environment }),
  }
}

/** The reply as a result of the job. Verdicts are checked as those of JavaScript functions are. */
export function resultOf(job: FunctionJob, reply: PythonReply): JobResult {
  if (job.type === 'describe') {
    return reply.kind ? described(job.name, reply.kind) : { type: 'invalid', reason: reasonOf(reply) }
  }
  if (job.type === 'bind') {
    const binding = readPythonOptions(JSON.parse(job.options))
    if (!('range' in binding)) return { type: 'refused', problems: binding }
    const { truth: _truth, aggregate: _aggregate, ...bound } = binding
    if (reply.bound) return { type: 'bound', bound }
    const [, path = '', message = ''] = /^(?:(function|kwargs): )?(.*)$/s.exec(reasonOf(reply)) ?? []
    return { type: 'refused', problems: [{ path, message }] }
  }
  const broken: FailureKind = job.op === 'score' ? 'rule_error' : 'function_error'
  if (reply.late) return { type: 'late' }
  if (reply.unfit !== undefined) return { type: 'called', result: failed('bad_sample', reply.unfit) }
  if (reply.threw !== undefined) {
    const error = reply.traceback ?? ''
    return { type: 'called', result: failed(broken, `${hookOf(job.op)} threw ${reply.threw}`), error }
  }
  if (reply.refused !== undefined)
    return { type: 'called', result: failed(broken, 'the function cannot be loaded'), error: reply.refused }
  if (reply.odd !== undefined)
    return { type: 'called', result: failed(broken, `${hookOf(job.op)}: ${reply.odd}`) }
  try {
    return { type: 'called', result: answerOf(job, reply) }
  } catch (error) {
    if (!(error instanceof ContractViolation)) throw error
    return { type: 'called', result: failed(error.kind ?? broken, error.message) }
  }
}

const bindings = new Map<string, PythonBinding>()

function answerOf(job: Extract<FunctionJob, { type: 'call' }>, reply: PythonReply): CallResult {
  if ((reply.question === undefined) === (job.op === 'preprocess'))
    throw new MalformedMessage('a reply is of unknown kind')
  if (reply.question !== undefined)
    return { status: 'question', question: checkQuestion('generate', reply.question, job.rows) }
  let binding = bindings.get(job.options)
  if (!binding) {
    binding = readPythonOptions(JSON.parse(job.options)) as PythonBinding
    if (bindings.size >= 256) bindings.clear()
    bindings.set(job.options, binding)
  }
  const hook = hookOf(job.op)
  const sample = job.rows[0]?.sample ?? null
  const limits = {
    hook,
    ...binding,
    outOfRange: job.op === 'score' ? 'rule_error' : 'judge_out_of_range',
  } as const
  const given = withValue(spelled(reply.verdict), hook, binding.aggregate, sample)
  const verdict = checkVerdict(given, limits, sample)
  const isFromText = binding.truth === 'json' && typeof job.rows[0]?.sample.groundTruth === 'string'
  return flagged({ status: 'verdicts', verdicts: [verdict] }, isFromText ? [0] : [], 1)
}

/** Python sends NaN and infinities as strings. */
function spelled(verdict: unknown): unknown {
  if (typeof verdict !== 'object' || verdict === null) return verdict
  const { value, steps, ...rest } = verdict as { value?: unknown; steps?: unknown }
  if (Array.isArray(steps)) return { ...rest, value: numberOf(value), steps: steps.map(spelled) }
  return typeof value === 'string' ? Number(value) : verdict
}

const numberOf = (value: unknown): unknown => (typeof value === 'string' ? Number(value) : value)

/** A verdict of steps alone with the score that the option `aggregate` makes of them. */
function withValue(
  verdict: unknown,
  hook: string,
  aggregate: StepAggregate | undefined,
  sample: Sample | null,
): unknown {
  if (typeof verdict !== 'object' || verdict === null || !('steps' in verdict)) return verdict
  if ((verdict as { value?: unknown }).value !== undefined) return verdict
  if (aggregate === undefined)
    throw new ContractViolation(
      `${hook} returned steps without a score: the option aggregate makes one of them`,
    )
  const steps = checkedSteps(verdict.steps, sample)
  if (typeof steps === 'string') throw new ContractViolation(`${hook} returned ${steps}`)
  return {
    ...verdict,
    value: aggregateSteps(
      steps.map(({ value }) => value),
      aggregate,
    ),
  }
}

function described(name: string, kind: 'rule' | 'model'): JobResult {
  const optionsSchema = z.toJSONSchema(pythonOptions, { io: 'input' }) as Json
  const ask = kind === 'model' ? 'generate' : null
  return {
    type: 'described',
    description: { name, kind, ask, critique: false, truthSchema: {}, optionsSchema },
  }
}

const hookOf = (op: Call['op']): string => (op === 'score' ? 'score' : `rm_${op}`)

const reasonOf = (reply: PythonReply): string =>
  reply.refused ?? reply.odd ?? (reply.threw === undefined ? 'gave no answer' : `threw ${reply.threw}`)

const failed = (kind: FailureKind, detail: string): CallResult => ({
  status: 'failed',
  failure: { kind, retryable: false, detail },
})

/** The options of every Python function, since these declare no options themselves. */
const pythonOptions = z.strictObject({
  function: z.string().optional().describe('which of the functions that the file defines'),
  kwargs: z.record(z.string(), z.unknown()).default({}).describe('further keyword arguments of the function'),
  range: z
    .tuple([z.number().nullable(), z.number().nullable()])
    .optional()
    .describe('lowest and highest legal score; null, or no range: no limit'),
  truth: z
    .enum(['as_sent', 'json'])
    .default('as_sent')
    .describe('json: a ground truth that is a text is read as JSON; one that is none makes a bad_sample'),
  parts: z
    .array(z.string())
    .default([])
    .describe('entries of a returned dict that are components of the score'),
  aggregate: stepAggregate
    .optional()
    .describe('how a returned dict without a score gets one from the rewards of its steps'),
})

/** What a Python function's options say about its verdicts. */
interface PythonBinding {
  readonly range: Range
  readonly parts: readonly string[]
  readonly truth: 'as_sent' | 'json'
  readonly aggregate: StepAggregate | undefined
  readonly warning?: string
}

const noRange =
  'no range is declared, so any number is taken for a score: write `range: [low, high]` into its options, null for an end without a limit'

/** Parses the options, or returns their mistakes. */
function readPythonOptions(options: unknown): PythonBinding | readonly Problem[] {
  const parsed = pythonOptions.safeParse(options)
  if (!parsed.success) {
    return parsed.error.issues.map(({ path, message }) => ({ path: z.core.toDotPath(path), message }))
  }
  const [low, high] = parsed.data.range ?? [null, null]
  const range: Range = [low ?? Number.NEGATIVE_INFINITY, high ?? Number.POSITIVE_INFINITY]
  if (range[0] > range[1]) return [{ path: 'range', message: 'the lowest score is above the highest' }]
  const { parts, truth, aggregate } = parsed.data
  const binding = { range, parts, truth, aggregate }
  return parsed.data.range ? binding : { ...binding, warning: noRange }
}

import { z } from 'zod'
import { packageVersion } from '../../../core/package-version.ts'
import { failureKinds, type Sample, type Term } from '../../../core/sample/sample.ts'
import { stallCauses } from '../../../core/stalls/request-times.ts'
import type { RequestDone, VoteEvent } from '../../../scoring/engine/events.ts'
import {
  recordedRollout,
  recordedText,
  recordLimits,
  recordPrompt,
  recordRollout,
  type TurnLimits,
} from './rollout.ts'
import type { TextKeeper } from './text-policy.ts'

type Sampling = NonNullable<VoteEvent['sampling']>

/** What a row's record needs besides its request. */
export interface RowParts {
  readonly keep: TextKeeper
  /** The answers of a sample's judges so far. */
  answersOf(sample: Sample): readonly VoteEvent[]
  /** The sampling settings of a model; a step's own settings override them. */
  samplingOf(model: string): Sampling
  /** The declared range of a plan's rewards; null if unknown. Default: the row does not say. */
  rangeOf?(plan: RequestDone['plan']): readonly [number, number] | null
  /** Default: those of the record. */
  readonly limits?: TurnLimits
}

/** The record of one row of a finished request. */
export function recordRow(
  event: RequestDone,
  index: number,
  { id, time, arrived }: { readonly id: string; readonly time: string; readonly arrived: string },
  parts: RowParts,
): RecordedRow {
  const { plan, rows, outcomes, run, trainingStep, ms, times } = event
  const row = rows[index]
  const outcome = outcomes[index]
  if (!row || !outcome) throw new RangeError(`the request has no row ${index}`)
  const sample = 'failure' in row ? null : row
  const answers = sample ? parts.answersOf(sample) : []
  const { keep, limits = recordLimits } = parts
  return {
    id,
    time,
    arrived,
    format: 2,
    config: {
      reward: plan.name,
      version: plan.version,
      gateway: packageVersion,
      arithmetic: plan.arithmetic,
      gate: plan.gate?.source ?? null,
      formula: plan.formula?.source ?? null,
      ...(parts.rangeOf && { range: parts.rangeOf(plan) }),
    },
    run,
    training_step: trainingStep,
    sample: {
      id: row.id,
      data_source: sample?.dataSource ?? null,
      group: sample?.group?.id ?? null,
      prompt: sample && recordPrompt(sample, keep, limits),
      response: sample && keep.text(sample.response),
      ground_truth: sample && keep.json(sample.groundTruth),
      ...(sample && recordRollout(sample, keep, limits)),
    },
    reward: outcome.valid ? outcome.reward : null,
    valid: outcome.valid,
    failure: outcome.valid ? null : (outcome.failure as RecordedRow['failure']),
    substitute: outcome.valid ? null : outcome.substitute,
    flags: outcome.flags as string[],
    terms: outcome.terms.map((term, at) => recordTerm(term, plan.steps[at]?.op ?? 'add', answers, parts)),
    ms: rounded(ms[index] ?? 0),
    spent: times.spellsOf(index, ms[index] ?? 0).flatMap(({ cause, model, from, to }) => {
      const spent = rounded(to - from)
      return spent === 0 ? [] : [{ cause, ...(model !== '' && { model }), ms: spent }]
    }),
  }
}

function recordTerm(
  term: Term,
  op: 'add' | 'mul',
  answers: readonly VoteEvent[],
  parts: RowParts,
): RecordedTerm {
  const { name, weight, status } = term
  const scored = status === 'scored' ? term : null
  // Answers come in the order in which the judges were done.
  const own =
    answers.length === 0
      ? answers
      : answers.filter(({ step }) => step === name).sort((a, b) => a.draw - b.draw)
  return {
    name,
    op,
    weight,
    status,
    score: scored?.score.value ?? null,
    contribution: scored?.contribution ?? null,
    draws: scored?.draws ?? own.length,
    spread: scored?.spread ?? 0,
    parts: scored?.score.parts ?? {},
    details: parts.keep.details(scored?.score.details),
    flags: (scored?.score.flags ?? []) as string[],
    ...(scored?.score.steps && { steps: scored.score.steps as RecordedTerm['steps'] }),
    why: status === 'off' ? term.why : null,
    failure: status === 'failed' ? (term.failure as RecordedTerm['failure']) : null,
    asks: own.map((vote) => recordAsk(vote, parts)),
  }
}

/** One answer of a judge. */
export function recordAsk(vote: VoteEvent, { keep, samplingOf }: Omit<RowParts, 'answersOf'>): RecordedAsk {
  const { model, draw, template, ms, answered, verdict, failure } = vote
  const sampling = { ...samplingOf(model), ...vote.sampling }
  return {
    model,
    draw,
    template,
    sampling,
    // Each draw of a question adds its index to the seed, so that draws differ.
    seed: sampling.seed === undefined ? null : sampling.seed + draw,
    ms: rounded(ms),
    instance: answered?.instance ?? null,
    source: answered?.source ?? null,
    attempts: answered?.attempts ?? failure?.attempts?.length ?? 0,
    tokens: answered?.tokens ?? null,
    answer: answered ? recordAnswer(answered.answer, keep) : null,
    verdict,
    failure: failure as RecordedAsk['failure'],
  }
}

function recordAnswer(
  answer: NonNullable<VoteEvent['answered']>['answer'],
  keep: TextKeeper,
): RecordedAsk['answer'] {
  if (typeof answer === 'number') return answer
  if (Array.isArray(answer)) return answer.every((value) => typeof value === 'number') ? answer : null
  if ('reply' in answer) return keep.text(JSON.stringify(answer.reply))
  if ('probabilities' in answer && Array.isArray(answer.probabilities)) return answer.probabilities
  if ('text' in answer && typeof answer.text === 'string') return keep.text(answer.text)
  return answer as Record<string, number>
}

const rounded = (ms: number): number => Math.round(ms * 100) / 100

const failure = z.object({
  kind: z.enum(failureKinds),
  retryable: z.boolean(),
  step: z.string().optional(),
  detail: z.string(),
  attempts: z.array(z.object({ instance: z.string(), ms: z.number(), error: z.string() })).optional(),
})

/** One answer of a judge. */
const recordedAsk = z.object({
  model: z.string(),
  draw: z.number(),
  /** SHA-256 of the template's literals. */
  template: z.string(),
  sampling: z.record(z.string(), z.unknown()),
  /** As sent to the server; null if the server chose it. */
  seed: z.number().nullable(),
  ms: z.number(),
  instance: z.string().nullable(),
  source: z.enum(['call', 'cache', 'joined']).nullable(),
  attempts: z.number(),
  tokens: z.object({ prompt: z.number(), completion: z.number() }).nullable(),
  /** Scores of a scalar or process reward model; embedding vectors are left out. */
  answer: z.union([recordedText, z.number(), z.array(z.number()), z.record(z.string(), z.number())]),
  verdict: z.number().nullable(),
  failure: failure.nullable(),
})

/** A step's contribution; terms are in the order in which they are combined. */
const recordedTerm = z.object({
  name: z.string(),
  op: z.enum(['add', 'mul']),
  weight: z.number(),
  status: z.enum(['scored', 'text', 'off', 'failed']),
  score: z.number().nullable(),
  contribution: z.number().nullable(),
  draws: z.number(),
  spread: z.number(),
  parts: z.record(z.string(), z.number()),
  details: z.record(z.string(), z.unknown()),
  flags: z.array(z.string()),
  /** Rewards of parts of the rollout. Absent if there are none. */
  steps: z.array(z.object({ turn: z.int(), end: z.int(), value: z.number() })).optional(),
  /** Why a term is off. */
  why: z.string().nullable(),
  failure: failure.nullable(),
  asks: z.array(recordedAsk),
})

/** Records of earlier versions say `sound` and `reference`. */
const arithmetic = z
  .enum(['strict', 'published', 'sound', 'reference'])
  .transform((name) => (name === 'sound' ? 'strict' : name === 'reference' ? 'published' : name))

/** One scored row: a line of the record. */
export const recordedRow = z.object({
  /** `<request id>:<row index>`; the request id is the reply's x-request-id header. */
  id: z.string(),
  time: z.string(),
  /** When the request had been received. Absent in records of earlier versions. */
  arrived: z.string().optional(),
  /** Lines of format 1 have no number and know only texts. */
  format: z.union([z.literal(1), z.literal(2)]).default(1),
  config: z.object({
    reward: z.string(),
    version: z.string(),
    /** The gateway's version. Absent in records of earlier ones. */
    gateway: z.string().optional(),
    arithmetic,
    gate: z.string().nullable(),
    formula: z.string().nullable(),
    /** The least and the largest reward that the config allows; null if unknown. Absent in records of earlier versions. */
    range: z.tuple([z.number(), z.number()]).readonly().nullable().optional(),
  }),
  run: z.string(),
  training_step: z.number().nullable(),
  sample: z.object({
    id: z.string(),
    data_source: z.string().nullable(),
    group: z.string().nullable(),
    prompt: recordedText,
    /** The text of the policy's last turn. */
    response: recordedText,
    ground_truth: z.unknown(),
    ...recordedRollout,
  }),
  reward: z.number().nullable(),
  valid: z.boolean(),
  failure: failure.nullable(),
  substitute: z.number().nullable(),
  flags: z.array(z.string()),
  terms: z.array(recordedTerm),
  /** From the start of the request to the row's outcome. */
  ms: z.number(),
  /** What the row waited for from its arrival to its outcome, in order. Absent in records of earlier versions. */
  spent: z
    .array(z.object({ cause: z.enum(stallCauses), model: z.string().optional(), ms: z.number() }))
    .optional(),
})

/** A line of the record. */
export type RecordedRow = z.output<typeof recordedRow>
/** A step's contribution in a recorded row. */
export type RecordedTerm = z.output<typeof recordedTerm>
/** One question of a recorded term. */
export type RecordedAsk = z.output<typeof recordedAsk>

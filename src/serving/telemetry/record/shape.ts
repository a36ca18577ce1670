import { z } from 'zod'
import { failureKinds } from '../../../core/sample/sample.ts'

/** Text by the policy: itself, its SHA-256 (of the JSON where it is no text) and length, or nothing. */
const text = z.union([z.string(), z.object({ sha256: z.string(), chars: z.number() }), z.null()])

const failure = z.object({
  kind: z.enum(failureKinds),
  retryable: z.boolean(),
  step: z.string().optional(),
  detail: z.string(),
  attempts: z.array(z.object({ instance: z.string(), ms: z.number(), error: z.string() })).optional(),
})

/** One draw of a question. */
const recordedAsk = z.object({
  model: z.string(),
  draw: z.number(),
  /** SHA-256 of the template's literals. */
  template: z.string(),
  sampling: z.record(z.string(), z.unknown()),
  /** As the server was sent it; null: the server chose. */
  seed: z.number().nullable(),
  ms: z.number(),
  instance: z.string().nullable(),
  source: z.enum(['call', 'cache', 'joined']).nullable(),
  attempts: z.number(),
  tokens: z.object({ prompt: z.number(), completion: z.number() }).nullable(),
  /** Numbers of a scalar or process reward model as they are; vectors are left out. */
  answer: z.union([text, z.number(), z.array(z.number()), z.record(z.string(), z.number())]),
  verdict: z.number().nullable(),
  failure: failure.nullable(),
})

/** A step's share, in the order of the fold. */
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
  /** Of a term that is off. */
  why: z.string().nullable(),
  failure: failure.nullable(),
  asks: z.array(recordedAsk),
})

/** Older records call them `sound` and `reference`. */
const arithmetic = z
  .enum(['strict', 'published', 'sound', 'reference'])
  .transform((name) => (name === 'sound' ? 'strict' : name === 'reference' ? 'published' : name))

/** One scored row, as a line of the record. */
export const recordedRow = z.object({
  /** `<request id>:<index of the row>`; the request id is the answer's x-request-id. */
  id: z.string(),
  time: z.string(),
  config: z.object({
    reward: z.string(),
    version: z.string(),
    arithmetic,
    gate: z.string().nullable(),
    formula: z.string().nullable(),
  }),
  run: z.string(),
  training_step: z.number().nullable(),
  sample: z.object({
    id: z.string(),
    data_source: z.string().nullable(),
    group: z.string().nullable(),
    prompt: text,
    response: text,
    ground_truth: z.unknown(),
  }),
  reward: z.number().nullable(),
  valid: z.boolean(),
  failure: failure.nullable(),
  substitute: z.number().nullable(),
  flags: z.array(z.string()),
  terms: z.array(recordedTerm),
  /** From the beginning of the request to the row's outcome. */
  ms: z.number(),
})

/** A line of the record. */
export type RecordedRow = z.output<typeof recordedRow>
/** A step's share in a recorded row. */
export type RecordedTerm = z.output<typeof recordedTerm>
/** One question of a recorded term. */
export type RecordedAsk = z.output<typeof recordedAsk>

import { z } from 'zod'
import { cutMessage } from '../core/errors.ts'
import { asJson, isDeeperThan, type NonJsonLiteral, tooLongInteger, UnreadRow } from '../core/json/text.ts'
import type {
  Failure,
  GroupMembership,
  Json,
  Message,
  Outcome,
  Sample,
  Term,
  Unreadable,
} from '../core/sample/sample.ts'
import { type MaybePromise, mapInSlices } from '../core/slices.ts'
import { fieldProblem, innermost } from './issues.ts'
import { listOf } from './request-schema.ts'

const contentPart = z.object({ type: z.string(), text: z.string().optional() })
export const nativeMessage = z.object({
  role: z.string(),
  content: z.union([z.string(), listOf(contentPart), z.null()]),
})
export const nativeText = z.union([z.string(), listOf(nativeMessage)], {
  error: 'a text or a list of messages',
})

/** A row of /v1/score and `reward-gateway score`. */
export const nativeSample = z.strictObject({
  id: z.union([z.string(), z.int()]).optional().describe('Returned with the result. Default: the index.'),
  prompt: nativeText.default('').describe('What the policy was asked: text or messages.'),
  response: nativeText.describe(
    "The policy's whole answer: text, or messages, whose contents are joined with newlines.",
  ),
  ground_truth: z
    .unknown()
    .optional()
    .describe('What the reward functions compare with: any JSON, or an object as its JSON text.'),
  data_source: z.string().nullish(),
  group_id: z
    .union([z.string(), z.int()])
    .nullish()
    .describe(
      'Shared by the answers to one prompt. Default: answers with the same prompt and ground truth form a group.',
    ),
  group_index: z.int().min(0).nullish(),
  group_size: z.int().min(1).nullish(),
  rm_prompt: z.string().nullish().describe("This row's judge prompt."),
  rm_prompts: z.record(z.string(), z.string()).nullish().describe("This row's judge prompts by step name."),
  extra_info: z.record(z.string(), z.unknown()).nullish(),
})

type NativeSample = z.output<typeof nativeSample>

const maxDepth = 128
const nestedFields = ['ground_truth', 'extra_info'] as const

/** Reads the `samples` of a request in slices. An unreadable row keeps its place and does not affect the others. */
export function readNativeRows(
  rows: readonly unknown[],
  literals: readonly NonJsonLiteral[],
): MaybePromise<readonly (Sample | Unreadable)[]> {
  if (literals.length === 0) return mapInSlices(rows, (row, index) => readNativeSample(row, index))
  const byRow = literalsByRow(literals.filter(({ path }) => path[0] === 'samples'))
  return mapInSlices(rows, (row, index) => {
    const own = byRow.get(index) ?? []
    return readNativeSample(
      row,
      index,
      own.map(({ path, literal }) => ({ path: path.slice(2), literal })),
    )
  })
}

/** The literals of each row. A row's index is the second step of their paths, whatever the list's name. */
export function literalsByRow(
  literals: readonly NonJsonLiteral[],
): ReadonlyMap<number, readonly NonJsonLiteral[]> {
  const byRow = new Map<number, NonJsonLiteral[]>()
  for (const literal of literals) {
    const [, row] = literal.path
    if (typeof row !== 'number') continue
    const own = byRow.get(row)
    if (own) own.push(literal)
    else byRow.set(row, [literal])
  }
  return byRow
}

/** Reads one row. `index` becomes the id of a row without one; `literals` are the row's own. */
export function readNativeSample(
  row: unknown,
  index: number,
  literals: readonly NonJsonLiteral[] = [],
): Sample | Unreadable {
  const bad = (detail: string): Unreadable => badSample(idOf(row, index), detail)
  if (row instanceof UnreadRow) return bad(`the row ${row.problem}`)
  const data = isPlainRow(row) ? row : checked(row)
  if (typeof data === 'string') return bad(data)
  for (const field of nestedFields) {
    if (isDeeperThan(data[field], maxDepth)) return bad(`${field}: nested deeper than ${maxDepth}`)
  }
  const tooLong = tooLongInteger(literals)
  if (tooLong !== null) return bad(tooLong)
  const sample = sampleOf(data, index)
  return literals.length > 0 ? { ...sample, flags: ['non_finite_input'] } : sample
}

const longestDetail = 500

/** A row that is no sample, and why. */
export const badSample = (id: string, detail: string): Unreadable => ({
  id,
  failure: { kind: 'bad_sample', retryable: false, detail: cutMessage(detail, longestDetail) },
})

/** Returns the parsed row, or what is wrong with it. */
function checked(row: unknown): NativeSample | string {
  const parsed = nativeSample.safeParse(row)
  if (parsed.success) return parsed.data
  const issues = parsed.error.issues.flatMap(innermost)
  // A misspelt field is the cause of the missing one.
  const issue = issues.find(({ code }) => code === 'unrecognized_keys') ?? issues[0]
  if (!issue) return 'sample: is not an object'
  const { path, message } = fieldProblem(issue, row, Object.keys(nativeSample.shape))
  return `${path || 'sample'}: ${message}`
}

function idOf(row: unknown, index: number): string {
  const id = row !== null && typeof row === 'object' && 'id' in row ? row.id : undefined
  return typeof id === 'string' || typeof id === 'number' ? String(id) : String(index)
}

function sampleOf(data: NativeSample | PlainRow, index: number): Sample {
  const { prompt = '', response } = data
  const sample: Writable<Sample> = {
    id: String(data.id ?? index),
    prompt: typeof prompt === 'string' ? prompt : prompt.map(messageOf),
    response: typeof response === 'string' ? response : response.map((m) => messageOf(m).content).join('\n'),
    groundTruth: null,
    rmPrompts: noTruth.rmPrompts,
    extraInfo: noTruth.extraInfo,
  }
  addTruth(sample, data)
  const group = groupOf(data)
  if (group) sample.group = group
  return sample
}

type Writable<T> = { -readonly [K in keyof T]: T[K] }

/** The fields of a sample that a trainer may keep in one place: in a label, or in a `ground_truth_file`. */
export type GroundTruth = Pick<
  Sample,
  'groundTruth' | 'dataSource' | 'rmPrompt' | 'rmPrompts' | 'extraInfo' | 'hasExtraInfo'
>

type GroundTruthFields = Pick<
  NativeSample,
  'ground_truth' | 'data_source' | 'rm_prompt' | 'rm_prompts' | 'extra_info'
>

/** Reads only these fields, whatever else `data` holds. */
export function groundTruthOf(data: GroundTruthFields): GroundTruth {
  const truth: Writable<GroundTruth> = { ...noTruth }
  addTruth(truth, data)
  return truth
}

const noTruth = { groundTruth: null, rmPrompts: Object.freeze({}), extraInfo: Object.freeze({}) }

function addTruth(truth: Writable<GroundTruth>, data: GroundTruthFields): void {
  const { ground_truth, data_source, rm_prompt, rm_prompts, extra_info } = data
  if (ground_truth !== undefined) truth.groundTruth = asJson(ground_truth)
  if (rm_prompts != null) truth.rmPrompts = rm_prompts
  if (extra_info == null) truth.hasExtraInfo = false
  else truth.extraInfo = extra_info as Sample['extraInfo']
  if (data_source != null) truth.dataSource = data_source
  if (rm_prompt != null) truth.rmPrompt = rm_prompt
}

function groupOf(data: NativeSample | PlainRow): GroupMembership | undefined {
  if (data.group_id == null) return undefined
  return {
    id: String(data.group_id),
    ...(data.group_size != null && { size: data.group_size }),
    ...(data.group_index != null && { index: data.group_index }),
  }
}

/** The texts of content parts are joined. */
export const messageOf = ({ role, content }: z.output<typeof nativeMessage>): Message => ({
  role,
  content: typeof content === 'string' ? content : (content ?? []).map((part) => part.text ?? '').join(''),
})

/** A row as most trainers send it: text for text, no messages and no prompts by step. */
interface PlainRow {
  readonly id?: string | number
  readonly prompt?: string
  readonly response: string
  readonly ground_truth?: unknown
  readonly data_source?: string | null
  readonly group_id?: string | number | null
  readonly group_index?: number | null
  readonly group_size?: number | null
  readonly rm_prompt?: string | null
  readonly rm_prompts?: null
  readonly extra_info?: Readonly<Record<string, unknown>> | null
}

/**
 * True only for rows that `nativeSample` accepts and leaves unchanged; every other row goes through the schema. With the schema for
 * all, a batch of rules costs 18 % more (`npm run against`).
 */
export function isPlainRow(row: unknown): row is PlainRow {
  if (typeof row !== 'object' || row === null || Array.isArray(row)) return false
  const fields = row as Record<string, unknown>
  for (const key in fields) if (!isPlainField(key, fields[key])) return false
  return typeof fields.response === 'string'
}

function isPlainField(key: string, value: unknown): boolean {
  switch (key) {
    case 'response':
    case 'prompt':
      return typeof value === 'string'
    case 'id':
      return typeof value === 'string' || Number.isSafeInteger(value)
    case 'ground_truth':
      return true
    case 'data_source':
    case 'rm_prompt':
      return typeof value === 'string' || value === null
    case 'group_id':
      return typeof value === 'string' || value === null || Number.isSafeInteger(value)
    case 'group_index':
      return value === null || isWhole(value, 0)
    case 'group_size':
      return value === null || isWhole(value, 1)
    case 'rm_prompts':
      return value === null
    case 'extra_info':
      return value === null || isRecord(value)
    default:
      return false
  }
}

const isWhole = (value: unknown, least: number): boolean =>
  Number.isSafeInteger(value) && (value as number) >= least

/** True for objects that z.record() leaves unchanged. It drops `__proto__`. */
export const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !Object.hasOwn(value, '__proto__')

/** A result of /v1/score and `reward-gateway score`. Every row of a reward has the same keys. */
export interface NativeResult {
  readonly id: string
  /** null whenever `valid` is false. */
  readonly reward: number | null
  readonly valid: boolean
  readonly failure: Failure | null
  /** What `on_invalid` supplies, for trainers that need a number. */
  readonly substitute: number | null
  readonly terms: Readonly<Record<string, NativeTerm>>
  /** See `metricsOf`. */
  readonly metrics: Readonly<Record<string, number | null>>
  readonly flags: readonly string[]
}

interface NativeTerm {
  readonly status: Term['status']
  readonly score: number | null
  readonly weight: number
  readonly contribution: number | null
  readonly parts: Readonly<Record<string, number>>
  readonly details: Readonly<Record<string, Json>>
  readonly flags: readonly string[]
  readonly draws: number
  readonly spread: number
  readonly why: string | null
  readonly failure: Failure | null
}

export function writeNativeResult(outcome: Outcome): NativeResult {
  return {
    id: outcome.id,
    reward: outcome.valid ? outcome.reward : null,
    valid: outcome.valid,
    failure: outcome.valid ? null : outcome.failure,
    substitute: outcome.valid ? null : outcome.substitute,
    terms: Object.fromEntries(outcome.terms.map((term) => [term.name, writeTerm(term)])),
    metrics: metricsOf(outcome),
    flags: outcome.flags,
  }
}

const noScore = { score: null, contribution: null, parts: {}, details: {}, flags: [], draws: 0, spread: 0 }

function writeTerm(term: Term): NativeTerm {
  const { status, weight } = term
  switch (status) {
    case 'scored': {
      const { value, parts = {}, details = {}, flags = [] } = term.score
      const { draws, spread, contribution } = term
      return {
        status,
        score: value,
        weight,
        contribution,
        parts,
        details,
        flags,
        draws,
        spread,
        why: null,
        failure: null,
      }
    }
    case 'text':
      return { ...noScore, status, weight, draws: term.texts.length, why: null, failure: null }
    case 'off':
      return { ...noScore, status, weight, why: term.why, failure: null }
    case 'failed':
      return { ...noScore, status, weight, why: term.failure.kind, failure: term.failure }
  }
}

/**
 * Flat metrics: `<term>`, and `<term>_scored` as 0 or 1. Every sample of a reward has the same keys. A number is null
 * if the term or its sample failed. It is 0 if a valid sample's term is off, because that term pays nothing.
 */
export function metricsOf(outcome: Outcome): Record<string, number | null> {
  const metrics: Record<string, number | null> = {}
  for (const term of outcome.terms) {
    metrics[term.name] = metricOf(outcome, term)
    metrics[`${term.name}_scored`] = term.status === 'scored' ? 1 : 0
  }
  return metrics
}

function metricOf({ valid }: Outcome, term: Term): number | null {
  if (term.status === 'scored') return term.score.value
  return valid && term.status !== 'failed' ? 0 : null
}

/**
 * The JSON text of writeNativeResult(outcome), built from pieces: building its objects first costs a batch of rules 9 % more
 * (`npm run against`). It stays, small as it is: see Speed in docs/architecture.md. Names of steps need no escapes.
 */
export function nativeResultText(outcome: Outcome): string {
  let terms = ''
  let metrics = ''
  for (const term of outcome.terms) {
    const { name } = term
    if (terms !== '') {
      terms += ','
      metrics += ','
    }
    terms += `"${name}":${term.status === 'scored' ? scoredText(term) : JSON.stringify(writeTerm(term))}`
    metrics += `"${name}":${numberText(metricOf(outcome, term))},"${name}_scored":${term.status === 'scored' ? 1 : 0}`
  }
  const verdict = outcome.valid
    ? `"reward":${numberText(outcome.reward)},"valid":true,"failure":null,"substitute":null`
    : `"reward":null,"valid":false,"failure":${JSON.stringify(outcome.failure)},"substitute":${numberText(outcome.substitute)}`
  return `{"id":${JSON.stringify(outcome.id)},${verdict},"terms":{${terms}},"metrics":{${metrics}},"flags":${flagsText(outcome.flags)}}`
}

function scoredText(term: Extract<Term, { status: 'scored' }>): string {
  const { value, parts, details, flags } = term.score
  const numbers = `"score":${numberText(value)},"weight":${numberText(term.weight)},"contribution":${numberText(term.contribution)}`
  const rest = `"parts":${objectText(parts)},"details":${objectText(details)},"flags":${flagsText(flags)}`
  return `{"status":"scored",${numbers},${rest},"draws":${numberText(term.draws)},"spread":${numberText(term.spread)},"why":null,"failure":null}`
}

/** Equals JSON.stringify. */
const numberText = (value: number | null): string => (Number.isFinite(value) ? `${value}` : 'null')

const objectText = (object: object | undefined): string => (object ? JSON.stringify(object) : '{}')

const flagsText = (flags: readonly string[] = []): string =>
  flags.length === 0 ? '[]' : JSON.stringify(flags)

import { z } from 'zod'
import { cutMessage } from '../core/errors.ts'
import { asJson, isDeeperThan, type NonJsonLiteral, tooLongInteger, UnreadRow } from '../core/json/text.ts'
import {
  type GroupMembership,
  type Message,
  type RolloutStatus,
  rolloutStatuses,
  type Sample,
  type Unreadable,
} from '../core/sample/sample.ts'
import { type MaybePromise, mapInSlices } from '../core/slices.ts'
import { RequestImages } from './chat/images.ts'
import { messageList, rolloutOf } from './chat/rollout.ts'
import { joinSegments, segmentList } from './chat/segments.ts'
import { fieldProblem, innermost } from './issues.ts'

export const nativeText = z.union([z.string(), messageList], { error: 'a text or a list of messages' })

/** What the policy answered. */
export const nativeResponse = z.union([z.string(), messageList, segmentList], {
  error: 'a text, a list of messages, or { segments }',
})

/** Prompt and response of a row. */
interface WholeRollout {
  readonly prompt: string | readonly Message[]
  readonly response: string | readonly Message[]
  /** If it came in several segments: the index of the turn with which each begins. */
  readonly segments?: readonly number[]
}

/** Prompt and response of a row, whose rollout may come in segments. */
export function wholeRollout(
  prompt: z.output<typeof nativeText>,
  response: z.output<typeof nativeResponse>,
): WholeRollout {
  if (typeof response !== 'object' || !('segments' in response)) return { prompt, response }
  const joined = joinSegments(response.segments, prompt)
  const { starts } = joined
  return { prompt: joined.prompt, response: joined.turns, ...(starts.length > 1 && { segments: starts }) }
}

const policyVersion = z.union([z.string(), z.int()])

/** A row of /v1/score and `reward-gateway score`. */
export const nativeSample = z.strictObject({
  id: z.union([z.string(), z.int()]).optional().describe('Returned with the result. Default: the index.'),
  prompt: nativeText.default('').describe('What the policy was asked: text or messages.'),
  response: nativeResponse.describe(
    "The policy's answer: a text, or all messages that the rollout added, of which the last turn of the assistant is the response. A trainer that cuts a rollout into segments sends { segments }.",
  ),
  status: z
    .enum(rolloutStatuses)
    .nullish()
    .describe(
      'How the rollout ended. `aborted` and `env_error` are invalid unless the reward says `on_status`.',
    ),
  tokens: z
    .strictObject({ prompt: z.int().min(0).nullish(), response: z.int().min(0).nullish() })
    .nullish()
    .describe('Token counts.'),
  policy_version: z
    .union([policyVersion, z.strictObject({ first: policyVersion, last: policyVersion })], {
      error: 'a text, a whole number, or first and last',
    })
    .nullish()
    .describe('The version of the policy, or those that wrote the first and the last token.'),
  environment: z
    .record(z.string(), z.number())
    .nullish()
    .describe('Rewards that the environment gave, by name.'),
  ground_truth: z
    .unknown()
    .optional()
    .describe('What the reward functions compare with: any JSON, or an object as its JSON text.'),
  data_source: z.string().nullish().describe('The data set of the row. Steps can be limited to some.'),
  group_id: z
    .union([z.string(), z.int()])
    .nullish()
    .describe(
      'Shared by the answers to one prompt. Default: answers with the same prompt and ground truth form a group.',
    ),
  group_index: z.int().min(0).nullish().describe('Place of the answer in its group, from 0.'),
  group_size: z
    .int()
    .min(1)
    .nullish()
    .describe('Answers of its group in all requests. Default: those of this request.'),
  rm_prompt: z.string().nullish().describe("This row's judge prompt."),
  rm_prompts: z.record(z.string(), z.string()).nullish().describe("This row's judge prompts by step name."),
  extra_info: z.record(z.string(), z.unknown()).nullish().describe('Further fields, for reward functions.'),
})

type NativeSample = z.output<typeof nativeSample>

const maxDepth = 128
const nestedFields = ['ground_truth', 'extra_info'] as const

/**
 * Reads the `samples` of a request in slices. An unreadable row keeps its place and does not affect the others. `images`: those
 * that rows refer to, data URLs by the SHA-256 of their bytes.
 */
export function readNativeRows(
  rows: readonly unknown[],
  literals: readonly NonJsonLiteral[],
  images: Readonly<Record<string, unknown>> = {},
): MaybePromise<readonly (Sample | Unreadable)[]> {
  let shared: RequestImages | null = null
  const byRow =
    literals.length === 0 ? null : literalsByRow(literals.filter(({ path }) => path[0] === 'samples'))
  return mapInSlices(rows, (row, index) => {
    const own = byRow?.get(index)?.map(({ path, literal }) => ({ path: path.slice(2), literal }))
    const read = readNativeSample(row, index, own)
    if ('failure' in read || (typeof read.prompt === 'string' && !read.turns)) return read
    shared ??= new RequestImages(images)
    const fault = shared.giveTo(read)
    return fault === null ? read : badSample(read.id, fault)
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
  return literals.length > 0 ? withFlag(sample, 'non_finite_input') : sample
}

/** A sample with one more flag. */
export const withFlag = (sample: Sample, flag: string): Sample => ({
  ...sample,
  flags: [...(sample.flags ?? []), flag],
})

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
  const { prompt, response, segments } = wholeRollout(data.prompt ?? '', data.response)
  const sample: Writable<Sample> = {
    id: String(data.id ?? index),
    prompt,
    response: typeof response === 'string' ? response : '',
    groundTruth: null,
    rmPrompts: noTruth.rmPrompts,
    extraInfo: noTruth.extraInfo,
  }
  addTruth(sample, data)
  const group = groupOf(data)
  if (group) sample.group = group
  if (typeof response !== 'string') Object.assign(sample, rolloutOf(response))
  else if (Number(sample.extraInfo.num_turns) > 2) sample.flags = ['turns_unknown']
  if (segments) sample.segments = segments
  if (data.status != null) sample.status = data.status
  if ('tokens' in data || 'policy_version' in data || 'environment' in data) addFacts(sample, data)
  return sample
}

/** What few trainers know of a rollout. */
function addFacts(
  sample: Writable<Sample>,
  { tokens, policy_version, environment }: Partial<NativeSample>,
): void {
  if (tokens != null) {
    const { prompt, response } = tokens
    sample.tokens = { ...(prompt != null && { prompt }), ...(response != null && { response }) }
  }
  if (policy_version != null)
    sample.policyVersion =
      typeof policy_version === 'object' ? policy_version : { first: policy_version, last: policy_version }
  if (environment != null) sample.environment = environment
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

/** A row as most trainers send it: text for text, no messages and no prompts by step. */
interface PlainRow {
  readonly id?: string | number
  readonly prompt?: string
  readonly response: string
  readonly status?: RolloutStatus | null
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
    case 'status':
      return value === null || rolloutStatuses.includes(value as RolloutStatus)
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

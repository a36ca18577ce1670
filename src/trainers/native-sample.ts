import { z } from 'zod'
import { cutMessage } from '../core/errors.ts'
import { asJson, isDeeperThan, type NonJsonLiteral, tooLongInteger, UnreadRow } from '../core/json/text.ts'
import type { GroupMembership, Message, Sample, Unreadable } from '../core/sample/sample.ts'
import { type MaybePromise, mapInSlices } from '../core/slices.ts'
import { fieldProblem, innermost } from './issues.ts'
import { listOf } from './request-schema.ts'

const contentPart = z.object({ type: z.string(), text: z.string().optional() })
/** A message of a conversation, as it is sent. */
export const nativeMessage = z.object({
  role: z.string(),
  content: z.union([z.string(), listOf(contentPart), z.null()]),
})
/** A text, or messages. */
export const nativeText = z.union([z.string(), listOf(nativeMessage)], {
  error: 'a text or a list of messages',
})

/** One sample as /v1/score and `reward-gateway score` read it. */
export const nativeSample = z.strictObject({
  id: z.union([z.string(), z.int()]).optional().describe('Comes back with the result; its index if absent.'),
  prompt: nativeText.default('').describe('What the policy was asked: text or messages.'),
  response: nativeText.describe("The policy's whole answer: text, or messages whose contents are joined."),
  ground_truth: z
    .unknown()
    .optional()
    .describe('What the reward functions compare with: any JSON, an object also as its JSON text.'),
  data_source: z.string().nullish(),
  group_id: z
    .union([z.string(), z.int()])
    .nullish()
    .describe('Answers to one prompt share it; without it, those with one prompt and ground truth do.'),
  group_index: z.int().min(0).nullish(),
  group_size: z.int().min(1).nullish(),
  rm_prompt: z.string().nullish().describe("This row's judge prompt."),
  rm_prompts: z.record(z.string(), z.string()).nullish().describe("This row's judge prompts by step name."),
  extra_info: z.record(z.string(), z.unknown()).nullish(),
})

type NativeSample = z.output<typeof nativeSample>

const maxDepth = 128

/** Reads the `samples` of a request, in slices; an unreadable row keeps its place and does not touch the others. */
export function readNativeRows(
  rows: readonly unknown[],
  oddities: readonly NonJsonLiteral[],
): MaybePromise<readonly (Sample | Unreadable)[]> {
  if (oddities.length === 0) return mapInSlices(rows, (row, index) => readNativeSample(row, index))
  const byRow = odditiesByRow(oddities.filter(({ path }) => path[0] === 'samples'))
  return mapInSlices(rows, (row, index) => {
    const own = byRow.get(index) ?? []
    return readNativeSample(
      row,
      index,
      own.map(({ path, literal }) => ({ path: path.slice(2), literal })),
    )
  })
}

/** Reads one row. `index` names a row that sent no id; `oddities` are those of this row. */
export function readNativeSample(
  row: unknown,
  index: number,
  oddities: readonly NonJsonLiteral[] = [],
): Sample | Unreadable {
  const bad = (detail: string): Unreadable => badSample(idOf(row, index), detail)
  if (row instanceof UnreadRow) return bad(`the row ${row.problem}`)
  const data = isPlainRow(row) ? row : checked(row)
  if (typeof data === 'string') return bad(data)
  for (const field of nested) {
    if (isDeeperThan(data[field], maxDepth)) return bad(`${field}: nested deeper than ${maxDepth}`)
  }
  const tooLong = tooLongInteger(oddities)
  if (tooLong !== null) return bad(tooLong)
  const sample = sampleOf(data, index)
  return oddities.length > 0 ? { ...sample, flags: ['non_finite_input'] } : sample
}

const nested = ['ground_truth', 'extra_info'] as const

/** What the schema makes of a row, or what is wrong with it. */
function checked(row: unknown): NativeSample | string {
  const parsed = nativeSample.safeParse(row)
  if (parsed.success) return parsed.data
  const issues = parsed.error.issues.flatMap(innermost)
  // A field that is misspelt is the cause of one that is missing.
  const issue = issues.find(({ code }) => code === 'unrecognized_keys') ?? issues[0]
  if (!issue) return 'sample: is none'
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

/** What a sample brings along besides prompt and response. */
export type Truth = Pick<
  Sample,
  'groundTruth' | 'dataSource' | 'rmPrompt' | 'rmPrompts' | 'extraInfo' | 'lacksExtraInfo'
>

type TruthFields = Pick<
  NativeSample,
  'ground_truth' | 'data_source' | 'rm_prompt' | 'rm_prompts' | 'extra_info'
>

/** The truth in native fields; those of the texts and the group do not count. */
export function truthOf(data: TruthFields): Truth {
  const truth: Writable<Truth> = { ...noTruth }
  addTruth(truth, data)
  return truth
}

const noTruth = { groundTruth: null, rmPrompts: Object.freeze({}), extraInfo: Object.freeze({}) }

function addTruth(truth: Writable<Truth>, data: TruthFields): void {
  const { ground_truth, data_source, rm_prompt, rm_prompts, extra_info } = data
  if (ground_truth !== undefined) truth.groundTruth = asJson(ground_truth)
  if (rm_prompts != null) truth.rmPrompts = rm_prompts
  if (extra_info == null) truth.lacksExtraInfo = true
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

/** A message as it is sent; content parts are joined. */
export const messageOf = ({ role, content }: z.output<typeof nativeMessage>): Message => ({
  role,
  content: typeof content === 'string' ? content : (content ?? []).map((part) => part.text ?? '').join(''),
})

const mostOfDetail = 500

/** A row whose sample cannot be told, and why. */
export const badSample = (id: string, detail: string): Unreadable => ({
  id,
  failure: { kind: 'bad_sample', retryable: false, detail: cutMessage(detail, mostOfDetail) },
})

/** A row as most trainers send it: text for text, no messages and no prompts by step. */
export interface PlainRow {
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
 * True only for what `nativeSample` takes and would leave as it is: a schema makes an object and a list of issues for
 * each field, and that cost more than most rules. Of what is not plain, only the schema says whether it is right.
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

/** True for what a schema of records takes and would leave as it is: it drops `__proto__`. */
export const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !Object.hasOwn(value, '__proto__')

/** Oddities by the row that holds them: the second step of their paths, whichever list it is in. */
export function odditiesByRow(
  oddities: readonly NonJsonLiteral[],
): ReadonlyMap<number, readonly NonJsonLiteral[]> {
  const byRow = new Map<number, NonJsonLiteral[]>()
  for (const oddity of oddities) {
    const [, row] = oddity.path
    if (typeof row !== 'number') continue
    const own = byRow.get(row)
    if (own) own.push(oddity)
    else byRow.set(row, [oddity])
  }
  return byRow
}

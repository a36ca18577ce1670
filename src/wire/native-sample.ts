import { z } from 'zod'
import type { GroupMembership, Message, Sample, Unreadable } from '../sample/sample.ts'
import { asJson, isDeeperThan, type Oddity } from './json-text.ts'

const contentPart = z.object({ type: z.string(), text: z.string().optional() })
/** A message of a conversation, as it is sent. */
export const nativeMessage = z.object({
  role: z.string(),
  content: z.union([z.string(), z.array(contentPart), z.null()]),
})
/** A text, or messages. */
export const nativeText = z.union([z.string(), z.array(nativeMessage)])

/** One sample as /v1/score and `reward-gateway score` read it. */
export const nativeSample = z.strictObject({
  id: z.union([z.string(), z.int()]).optional().describe('Comes back with the result; its index if absent.'),
  prompt: nativeText.default('').describe('What the policy was asked: text or messages.'),
  response: nativeText.describe("The policy's whole answer: text, or messages whose contents are joined."),
  ground_truth: z.unknown().optional().describe('What the reward functions compare with; any JSON.'),
  data_source: z.string().nullish(),
  group_id: z.union([z.string(), z.int()]).nullish().describe('Answers to one prompt share it.'),
  group_index: z.int().min(0).nullish(),
  group_size: z.int().min(1).nullish(),
  rm_prompt: z.string().nullish().describe("This row's judge prompt."),
  rm_prompts: z.record(z.string(), z.string()).nullish().describe("This row's judge prompts by step name."),
  extra_info: z.record(z.string(), z.unknown()).nullish(),
})

type NativeSample = z.output<typeof nativeSample>

const maxDepth = 128

/** Reads the `samples` of a request; an unreadable row keeps its place and does not touch the others. */
export function readNativeRows(
  rows: readonly unknown[],
  oddities: readonly Oddity[],
): readonly (Sample | Unreadable)[] {
  if (oddities.length === 0) return rows.map((row, index) => readNativeSample(row, index))
  return rows.map((row, index) => {
    const own = oddities.filter(({ path }) => path[0] === 'samples' && path[1] === index)
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
  oddities: readonly Oddity[] = [],
): Sample | Unreadable {
  const badSample = (detail: string): Unreadable => ({
    id: idOf(row, index),
    failure: { kind: 'bad_sample', retryable: false, detail },
  })
  const parsed = nativeSample.safeParse(row)
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    return badSample(`${issue?.path.join('.') || 'sample'}: ${issue?.message ?? 'not a sample'}`)
  }
  const data = parsed.data
  for (const field of ['ground_truth', 'extra_info'] as const) {
    if (isDeeperThan(data[field], maxDepth)) return badSample(`${field}: nested deeper than ${maxDepth}`)
  }
  const tooLong = oddities.find(({ literal }) => /\d/.test(literal))
  if (tooLong) {
    return badSample(
      `${tooLong.path.join('.')}: an integer beyond 2^53 would be rounded; send it as a string`,
    )
  }
  const sample = sampleOf(data, index)
  return oddities.length > 0 ? { ...sample, flags: ['non_finite_input'] } : sample
}

function idOf(row: unknown, index: number): string {
  const id = row !== null && typeof row === 'object' && 'id' in row ? row.id : undefined
  return typeof id === 'string' || typeof id === 'number' ? String(id) : String(index)
}

function sampleOf(data: NativeSample, index: number): Sample {
  const group = groupOf(data)
  return {
    id: String(data.id ?? index),
    prompt: typeof data.prompt === 'string' ? data.prompt : data.prompt.map(messageOf),
    response:
      typeof data.response === 'string'
        ? data.response
        : data.response.map((m) => messageOf(m).content).join('\n'),
    ...truthOf(data),
    ...(group && { group }),
  }
}

/** What a sample brings along besides prompt and response. */
export type Truth = Pick<
  Sample,
  'groundTruth' | 'dataSource' | 'rmPrompt' | 'rmPrompts' | 'extraInfo' | 'lacksExtraInfo'
>

/** The truth in native fields; those of the texts and the group do not count. */
export const truthOf = (
  data: Pick<NativeSample, 'ground_truth' | 'data_source' | 'rm_prompt' | 'rm_prompts' | 'extra_info'>,
): Truth => ({
  groundTruth: asJson(data.ground_truth ?? null),
  rmPrompts: data.rm_prompts ?? {},
  extraInfo: (data.extra_info ?? {}) as Sample['extraInfo'],
  ...(data.extra_info == null && { lacksExtraInfo: true }),
  ...(data.data_source != null && { dataSource: data.data_source }),
  ...(data.rm_prompt != null && { rmPrompt: data.rm_prompt }),
})

function groupOf(data: NativeSample): GroupMembership | undefined {
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

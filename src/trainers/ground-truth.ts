import {
  asJson,
  isDeeperThan,
  JsonLimitError,
  type ParsedText,
  parseJsonText,
  tooLongInteger,
  UnreadRow,
} from '../core/json/text.ts'
import { didYouMean } from '../core/nearest-name.ts'
import type { Json } from '../core/sample/sample.ts'
import { isRecord, nativeSample, type Truth, truthOf } from './native-sample.ts'

/** A truth, or what is wrong with it; null: none was sent. */
export type ReadTruth = { readonly truth: Truth } | { readonly problem: string } | null

const carrier = nativeSample.pick({
  ground_truth: true,
  data_source: true,
  rm_prompt: true,
  rm_prompts: true,
  extra_info: true,
})
const lean = carrier.omit({ extra_info: true })
const keys = Object.keys(carrier.shape)
const maxDepth = 128

/**
 * A trainer's only field beside the texts. A JSON object (or its text) with `ground_truth`, or with nothing but
 * `data_source`, `rm_prompt`, `rm_prompts` and `extra_info`, carries these; anything else is the ground truth itself.
 * `maxValues`: what such a text may hold.
 */
export function readLabel(label: unknown, maxValues: number): ReadTruth {
  if (label === null || label === undefined || label === '') return null
  if (label instanceof UnreadRow) return { problem: `label: it ${label.problem}` }
  if (isDeeperThan(label, maxDepth)) return { problem: `label: nested deeper than ${maxDepth}` }
  const read = typeof label === 'string' ? objectIn(label, maxValues) : { value: label, oddities: [] }
  if (read instanceof JsonLimitError) return { problem: `label: its text ${read.message}` }
  const { value: carried, oddities } = read
  if (!isCarrier(carried)) return { truth: plainTruth(asJson(label)) }
  const tooLong = tooLongInteger(oddities, ['label'])
  return tooLong === null ? readTruth(carried, 'label') : { problem: tooLong }
}

/** True where no ground truth was sent, whatever else was: it is for the wire's `ground_truth_file` to say. */
export const lacksTruth = (label: ReadTruth): boolean =>
  label === null || ('truth' in label && label.truth.groundTruth === null)

/** Reads an object with the native fields. `where` names it in problems. */
export function readTruth(carried: object, where: string): Exclude<ReadTruth, null> {
  const unknown = Object.keys(carried).filter((key) => !keys.includes(key))
  if (unknown.length > 0) {
    const [key = ''] = unknown
    return {
      problem: `${where}: there is no '${key}' beside ground_truth${didYouMean(key, keys)}; extra_info takes any key`,
    }
  }
  if (isDeeperThan(carried, maxDepth)) return { problem: `${where}: nested deeper than ${maxDepth}` }
  const parsed = parsedTruth(carried)
  if (parsed.success) return { truth: truthOf(parsed.data) }
  const [issue] = parsed.error.issues
  return { problem: `${where}.${issue?.path.join('.')}: ${issue?.message}` }
}

/** A record that the schema would only copy, field by field, is taken as it is. */
function parsedTruth(carried: { readonly extra_info?: unknown }) {
  const { extra_info, ...rest } = carried
  if (!isRecord(extra_info)) return carrier.safeParse(carried)
  const parsed = lean.safeParse(rest)
  return parsed.success ? { ...parsed, data: { ...parsed.data, extra_info } } : parsed
}

/** A label that is the ground truth and nothing else. */
export const plainTruth = (groundTruth: Json): Truth => ({
  groundTruth,
  rmPrompts: {},
  extraInfo: {},
  lacksExtraInfo: true,
})

function isCarrier(value: unknown): value is object {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  const own = Object.keys(value)
  return own.includes('ground_truth') || (own.length > 0 && own.every((key) => keys.includes(key)))
}

const noObject: ParsedText = { value: null, oddities: [] }

/** A text that is no JSON object is a label like any other. */
function objectIn(text: string, maxValues: number): ParsedText | JsonLimitError {
  if (!/^\s*\{/.test(text)) return noObject
  try {
    return parseJsonText(text, maxValues)
  } catch (error) {
    return error instanceof JsonLimitError ? error : noObject
  }
}

/** Names under which data sets keep what a response is compared with, in the order of preference. */
const truthNames = ['ground_truth', 'expected_answer', 'reference_answer', 'answer', 'solution', 'label']

/** What of a row is no extra_info. */
const named = ['data_source', 'rm_prompt', 'rm_prompts', 'extra_info', 'reward_model']

/**
 * A data set's row as it stands: the ground truth under one of its usual names (verl's `reward_model.ground_truth`
 * included), `data_source`, `rm_prompt` and `rm_prompts` under theirs. Every other field, and the ground truth's, is
 * extra_info, laid under the row's own `extra_info`; those in `without` are none of its fields.
 */
export function readTaskRow(
  row: Readonly<Record<string, unknown>>,
  where: string,
  without: readonly string[] = [],
): ReadTruth {
  const { data_source, rm_prompt, rm_prompts, extra_info, reward_model } = row
  const name = truthNames.find((one) => row[one] != null && !without.includes(one))
  const verl = isObject(reward_model) ? reward_model.ground_truth : undefined
  const truth = name === undefined ? verl : row[name]
  return readTruth(
    {
      ground_truth: asJson(truth ?? null),
      ...(typeof data_source === 'string' && { data_source }),
      ...(typeof rm_prompt === 'string' && { rm_prompt }),
      ...(rm_prompts != null && { rm_prompts }),
      extra_info: laidOver([row, isObject(extra_info) ? extra_info : {}], [...named, ...without], 1),
    },
    where,
  )
}

/**
 * The fields of objects in one, those of a later one over those of an earlier one. Those in `without` are left out of the
 * first `from` of them. A spread, or what destructuring leaves, takes several times as long where fields are many.
 */
export function laidOver(
  objects: readonly Readonly<Record<string, unknown>>[],
  without: readonly string[],
  from = objects.length,
): Record<string, unknown> {
  const leftOut = new Set(without)
  const all: Record<string, unknown> = {}
  // The schemas drop it, too.
  for (const [index, object] of objects.entries())
    for (const name of Object.keys(object))
      if (name !== '__proto__' && !(index < from && leftOut.has(name))) all[name] = object[name]
  return all
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

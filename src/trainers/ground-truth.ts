/** Finds a row's ground truth in the field that its trainer keeps it in: a label, or a data set's row. */
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
import { type GroundTruth, groundTruthOf, isRecord, nativeSample } from './native.ts'

/** A ground truth, or what is wrong with it. null: none was sent. */
export type ReadGroundTruth = { readonly truth: GroundTruth } | { readonly problem: string } | null

const carrier = nativeSample.pick({
  ground_truth: true,
  data_source: true,
  rm_prompt: true,
  rm_prompts: true,
  extra_info: true,
})
const carrierWithoutInfo = carrier.omit({ extra_info: true })
const carrierKeys = Object.keys(carrier.shape)
const maxDepth = 128

/**
 * Reads a label, the only field that some trainers send besides the texts. An object (or its JSON text) carries the
 * native fields if it has `ground_truth`, or only `data_source`, `rm_prompt`, `rm_prompts` and `extra_info`. Any
 * other value is the ground truth itself. `maxValues` limits a JSON text.
 */
export function readLabel(label: unknown, maxValues: number): ReadGroundTruth {
  if (label === null || label === undefined || label === '') return null
  if (label instanceof UnreadRow) return { problem: `label: it ${label.problem}` }
  if (isDeeperThan(label, maxDepth)) return { problem: `label: nested deeper than ${maxDepth}` }
  const read = typeof label === 'string' ? objectIn(label, maxValues) : { value: label, literals: [] }
  if (read instanceof JsonLimitError) return { problem: `label: its text ${read.message}` }
  const { value: carried, literals } = read
  if (!isCarrier(carried)) return { truth: plainGroundTruth(asJson(label)) }
  const tooLong = tooLongInteger(literals, ['label'])
  return tooLong === null ? readNativeFields(carried, 'label') : { problem: tooLong }
}

/** Whether the row sent a ground truth. A `problem` counts as one, so that it is reported instead of looked up. */
export const hasGroundTruth = (read: ReadGroundTruth): boolean =>
  read !== null && ('problem' in read || read.truth.groundTruth !== null)

/** Reads an object with the native fields. `where` names it in problems. */
export function readNativeFields(carried: object, where: string): Exclude<ReadGroundTruth, null> {
  const unknown = Object.keys(carried).filter((key) => !carrierKeys.includes(key))
  if (unknown.length > 0) {
    const [key = ''] = unknown
    return {
      problem: `${where}: there is no '${key}' beside ground_truth${didYouMean(key, carrierKeys)}; extra_info takes any key`,
    }
  }
  if (isDeeperThan(carried, maxDepth)) return { problem: `${where}: nested deeper than ${maxDepth}` }
  const parsed = parseCarrier(carried)
  if (parsed.success) return { truth: groundTruthOf(parsed.data) }
  const [issue] = parsed.error.issues
  return { problem: `${where}.${issue?.path.join('.')}: ${issue?.message}` }
}

/** The schema would only copy `extra_info` field by field, so it is taken as it is. */
function parseCarrier(carried: { readonly extra_info?: unknown }) {
  const { extra_info, ...rest } = carried
  if (!isRecord(extra_info)) return carrier.safeParse(carried)
  const parsed = carrierWithoutInfo.safeParse(rest)
  return parsed.success ? { ...parsed, data: { ...parsed.data, extra_info } } : parsed
}

/** A ground truth without any other field. */
export const plainGroundTruth = (groundTruth: Json): GroundTruth => ({
  groundTruth,
  rmPrompts: {},
  extraInfo: {},
  hasExtraInfo: false,
})

function isCarrier(value: unknown): value is object {
  if (!isObject(value)) return false
  const own = Object.keys(value)
  return own.includes('ground_truth') || (own.length > 0 && own.every((key) => carrierKeys.includes(key)))
}

const noObject: ParsedText = { value: null, literals: [] }

/** A text that is not a JSON object is an ordinary label. */
function objectIn(text: string, maxValues: number): ParsedText | JsonLimitError {
  if (!/^\s*\{/.test(text)) return noObject
  try {
    return parseJsonText(text, maxValues)
  } catch (error) {
    return error instanceof JsonLimitError ? error : noObject
  }
}

/** The names that data sets use for the ground truth, in order of preference. */
const truthNames = ['ground_truth', 'expected_answer', 'reference_answer', 'answer', 'solution', 'label']

/** Fields that never become extra_info. */
const namedFields = ['data_source', 'rm_prompt', 'rm_prompts', 'extra_info', 'reward_model']

/**
 * Reads a row as it stands in its data set. The ground truth has one of its usual names, or is verl's
 * `reward_model.ground_truth`. All fields but `data_source`, `rm_prompt`, `rm_prompts` and those in `without` become
 * extra_info, including the ground truth's; the row's own `extra_info` takes precedence over them.
 */
export function readTaskRow(
  row: Readonly<Record<string, unknown>>,
  where: string,
  without: readonly string[] = [],
): ReadGroundTruth {
  const { data_source, rm_prompt, rm_prompts, extra_info, reward_model } = row
  const name = truthNames.find((one) => row[one] != null && !without.includes(one))
  const verl = isObject(reward_model) ? reward_model.ground_truth : undefined
  const truth = name === undefined ? verl : row[name]
  return readNativeFields(
    {
      ground_truth: asJson(truth ?? null),
      ...(typeof data_source === 'string' && { data_source }),
      ...(typeof rm_prompt === 'string' && { rm_prompt }),
      ...(rm_prompts != null && { rm_prompts }),
      extra_info: mergeFields([row, isObject(extra_info) ? extra_info : {}], [...namedFields, ...without], 1),
    },
    where,
  )
}

/**
 * Merges the fields of objects; later objects take precedence. The first `from` objects lose the fields in `without`.
 * With many fields, spreads and rest patterns take several times as long.
 */
export function mergeFields(
  objects: readonly Readonly<Record<string, unknown>>[],
  without: readonly string[],
  from = objects.length,
): Record<string, unknown> {
  const leftOut = new Set(without)
  const all: Record<string, unknown> = {}
  // The schemas drop `__proto__` as well.
  for (const [index, object] of objects.entries())
    for (const name of Object.keys(object))
      if (name !== '__proto__' && !(index < from && leftOut.has(name))) all[name] = object[name]
  return all
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

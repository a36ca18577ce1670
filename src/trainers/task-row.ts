import { asJson } from '../core/json/text.ts'
import { type ReadTruth, readTruth } from './label.ts'

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

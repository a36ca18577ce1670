import { asJson } from '../core/json/text.ts'
import { type ReadTruth, readTruth } from './label.ts'

/** Names under which data sets keep what a response is compared with, in the order of preference. */
const truthNames = ['ground_truth', 'expected_answer', 'reference_answer', 'answer', 'solution', 'label']

/**
 * A data set's row as it stands: the ground truth under one of its usual names (verl's `reward_model.ground_truth`
 * included), `data_source`, `rm_prompt` and `rm_prompts` under theirs. Every other field, and the ground truth's, is
 * extra_info, laid under the row's own `extra_info`.
 */
export function readTaskRow(row: Readonly<Record<string, unknown>>, where: string): ReadTruth {
  const { data_source, rm_prompt, rm_prompts, extra_info, reward_model, ...fields } = row
  const named: Readonly<Record<string, unknown>> = fields
  const name = truthNames.find((one) => named[one] != null)
  const verl = isObject(reward_model) ? reward_model.ground_truth : undefined
  const truth = name === undefined ? verl : named[name]
  const extra = { ...fields, ...(isObject(extra_info) ? extra_info : {}) }
  return readTruth(
    {
      ground_truth: asJson(truth ?? null),
      ...(typeof data_source === 'string' && { data_source }),
      ...(typeof rm_prompt === 'string' && { rm_prompt }),
      ...(rm_prompts != null && { rm_prompts }),
      extra_info: extra,
    },
    where,
  )
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

import type { Sample, Unreadable } from '../../core/sample/sample.ts'
import { badSample } from '../../trainers/bad-sample.ts'
import { readNativeSample } from '../../trainers/native-sample.ts'
import { type Fields, isObject } from './fields.ts'
import { rmPromptColumns } from './rm-prompt-columns.ts'
import type { RawRow } from './row-source.ts'

/**
 * The samples of a file's row. Besides rows as /v1/score reads them: verl's data sets (`reward_model.ground_truth`,
 * `rm_prompt_<i>` for the i-th of `modelSteps`) with `response` or `responses`, and its dumps (`input`, `output`, `gts`).
 */
export function samplesOf(
  { value, oddities }: RawRow,
  index: number,
  modelSteps: readonly string[],
): readonly (Sample | Unreadable)[] {
  if (value === undefined) return [badSample(String(index), 'the line is no JSON')]
  if (!isObject(value)) return [readNativeSample(value, index, oddities)]
  if (!isDatasetRow(value)) {
    // It is of the row, not of the sample: a file for `audit` can be scored too.
    const { near_miss: _, ...row } = value
    return [readNativeSample('near_miss' in value ? row : value, index, oddities)]
  }
  const { responses, ...row } = datasetRow(value, modelSteps)
  const own = oddities.filter(({ path: [field] }) => field !== undefined && usedColumns.has(String(field)))
  if (!Array.isArray(responses)) return [readNativeSample(row, index, own)]
  const id = String(row.id ?? index)
  return responses.map((response, k) =>
    readNativeSample(
      { ...row, response, id: `${id}/${k}`, group_id: id, group_index: k, group_size: responses.length },
      index,
      own,
    ),
  )
}

/** The names of a reward's model steps in their order, as `rm_prompt_<i>` counts them. */
export const modelStepNames = (
  steps: readonly { readonly name: string; readonly ask: string | null }[],
): readonly string[] => steps.flatMap(({ name, ask }) => (ask === null ? [] : [name]))

const rmPromptColumn = /^rm_prompt_\d+$/

const isDatasetRow = (row: Fields): boolean =>
  isObject(row.reward_model) ||
  Array.isArray(row.responses) ||
  ('output' in row && 'input' in row) ||
  Object.keys(row).some((name) => rmPromptColumn.test(name))

const usedColumns: ReadonlySet<string> = new Set(['reward_model', 'gts', 'ground_truth', 'extra_info'])

/** Columns that are not named here are the data set's own affair. */
function datasetRow(row: Fields, modelSteps: readonly string[]): Fields & { readonly responses?: unknown } {
  const truth = isObject(row.reward_model) ? row.reward_model.ground_truth : row.gts
  return {
    id: row.id ?? undefined,
    prompt: row.prompt ?? row.input ?? undefined,
    response: row.response ?? row.output,
    responses: row.responses,
    ground_truth: row.ground_truth ?? truth,
    data_source: row.data_source,
    group_id: row.group_id,
    extra_info: row.extra_info,
    ...rmPromptColumns(row, modelSteps),
  }
}

import type { Json } from '../../core/sample/sample.ts'
import type { Family, Reading } from './family.ts'

/** A row as verl's data sets hold it; `answer` and `near_miss` are what `check` and `audit` compare. */
export function trainingRow(
  { dataSource, prompt, groundTruth, extraInfo, rmPrompts = [], gold, nearMiss }: Reading,
  { ability }: Pick<Family, 'ability'>,
  index: number,
): Readonly<Record<string, Json>> {
  return {
    data_source: dataSource,
    prompt: prompt.map(({ role, content }) => ({ role, content })),
    ability,
    reward_model: { style: 'rule', ground_truth: groundTruth },
    extra_info: { split: null, index, ...extraInfo, answer: gold, near_miss: nearMiss },
    ...Object.fromEntries(rmPrompts.map((text, at) => [`rm_prompt_${at}`, text])),
  }
}

/** SQL types of the columns of a family's rows. */
export function columnsOf({ columns, rmPrompts }: Family): Readonly<Record<string, string>> {
  const own = Object.entries(columns.extraInfo).map(([name, type]) => `${name} ${type}`)
  const extra = ['split VARCHAR', '"index" BIGINT', ...own, 'answer VARCHAR', 'near_miss VARCHAR']
  return {
    data_source: 'VARCHAR',
    prompt: 'STRUCT(role VARCHAR, content VARCHAR)[]',
    ability: 'VARCHAR',
    reward_model: `STRUCT(style VARCHAR, ground_truth ${columns.groundTruth})`,
    extra_info: `STRUCT(${extra.join(', ')})`,
    ...Object.fromEntries(Array.from({ length: rmPrompts }, (_, at) => [`rm_prompt_${at}`, 'VARCHAR'])),
  }
}

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import gsm8kStock from '../../../reward-functions/gsm8k-stock.ts'
import riderRule from '../../../reward-functions/rider-rule.ts'
import type { Json } from '../../contract/index.ts'
import { configTexts } from '../../plan/config-files.ts'
import { readConfigs } from '../../plan/configs.ts'
import { sourcePattern } from '../../plan/source-pattern.ts'
import { reward } from './reward.ts'
import type { Answer } from './vector.ts'

/** Above the sources, and one further above what was built of them. */
const config = ['../../..', '../../../..']
  .map((above) => join(import.meta.dirname, above, 'rm-configs/rider-reference.yaml'))
  .find(existsSync)

/** The one step of rm-configs/rider-reference.yaml whose data_source fits scores the sample. */
export const dispatch: Answer = ({ input: { data_source, ...sample } }) => {
  const [written] = readConfigs(configTexts([config ?? '']), {}).rewards
  const steps = written?.steps.filter(({ data_source: patterns = [] }) =>
    sourcePattern([patterns].flat()).matches(String(data_source)),
  )
  const [step] = steps ?? []
  if (!step || steps?.length !== 1) throw new RangeError(`${steps?.length} steps fit ${data_source}`)
  const options = step.options as Record<string, Json>
  return step.function === 'gsm8k-stock'
    ? reward(gsm8kStock, sample, options)
    : reward(riderRule, sample, options)
}

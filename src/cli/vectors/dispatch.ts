import gsm8kStock from '../../../reward-functions/gsm8k-stock.ts'
import riderRule from '../../../reward-functions/rider-rule.ts'
import { reward } from './reward.ts'
import { stepOfConfig } from './step-of-config.ts'
import type { Answer } from './vector.ts'

/** The one step of rm-configs/rider-reference.yaml whose data_source fits scores the sample. */
export const dispatch: Answer = ({ input: { data_source, ...sample } }) => {
  const step = stepOfConfig('rider-reference.yaml', String(data_source))
  return step.function === 'gsm8k-stock'
    ? reward(gsm8kStock, sample, step.options)
    : reward(riderRule, sample, step.options)
}

import gsm8kStock from '../../reward-functions/gsm8k-stock.ts'
import riderRule from '../../reward-functions/rider-rule.ts'
import { expandConfig, type Tree } from '../../src/workbench/migrate/verl-settings.ts'
import { reward } from './reward.ts'
import { riderAnswers } from './rider.ts'
import { stepOfConfig } from './step-of-config.ts'
import { stockAnswers } from './stock.ts'
import { type Adapter, type Answer, wanted } from './vector.ts'
import { combineAnswers } from './verl-combine.ts'
import { yesNoAnswers } from './yes-no-judge.ts'

const singlePrecision = new Set(['combine', 'pipeline'])

/** The one step of rm-configs/rider-published.yaml whose data_source fits scores the sample. */
const dispatch: Answer = ({ input: { data_source, ...sample } }) => {
  const { function: name, options } = stepOfConfig('rider-published.yaml', String(data_source))
  return name === 'gsm8k-stock' ? reward(gsm8kStock, sample, options) : reward(riderRule, sample, options)
}

/** VeRL-with-RMs: rules, judges' hooks, their combination, the dispatch by data source and the reading of its settings. */
export const verlWithRms: Adapter = {
  tolerance: (file) => (singlePrecision.has(file) ? 1e-6 : 1e-9),
  answers: {
    ...riderAnswers,
    ...yesNoAnswers,
    ...stockAnswers,
    ...combineAnswers,
    expand_config: ({ input }) => expandConfig(input.config as Tree),
    dispatch,
  },
  /** A fenced question comes with the nonce of its fences. */
  wanted: (vector, mode) => {
    const want = wanted(vector, mode)
    return typeof want === 'object' && want !== null && 'nonce' in want
      ? (want as { value?: unknown }).value
      : want
  },
}

import gsm8kBoxed from '../../reward-functions/gsm8k-boxed.ts'
import progressive from '../../reward-functions/gsm8k-progressive.ts'
import { firstHashNumber, firstStatedNumber, lastLooseNumber } from '../../src/grading/index.ts'
import type { RunMetrics, Series } from '../../src/workbench/analysis/training-log.ts'
import { movingAverage, rewardAndAccuracy } from '../../src/workbench/analysis/training-summary.ts'
import { publishedSummary, readPublishedLog } from '../support/published-log.ts'
import { reward } from './reward.ts'
import type { Adapter, Vector } from './vector.ts'

function extracted({ input }: Vector, strict: (text: string) => string | null, dropZero: boolean): unknown {
  const text = String(input.solution_str)
  if (input.method === 'strict') return strict(text)
  if (input.method === 'flexible') return lastLooseNumber(text, dropZero)
  throw new RangeError(`no method ${input.method}`)
}

export const gsm8kProgressive: Adapter = {
  answers: {
    compute_score: ({ input }, mode) => reward(progressive, input, { mode }),
    compute_score_flexible: ({ input }, mode) => reward(progressive, input, { mode, variant: 'flexible' }),
    boxed_compute_score: ({ input }, mode) => reward(gsm8kBoxed, input, { mode }),
    extract_answer: (vector) => extracted(vector, firstHashNumber, true),
    parse_log: ({ input }) => readPublishedLog(String(input.log_text)),
    moving_average: ({ input }) => movingAverage(input.data as Series, Number(input.window)),
    correlation: ({ input }) => rewardAndAccuracy(input.test_score as Series, input.train_reward as Series),
    summary: ({ input }) => publishedSummary(input.metrics as RunMetrics),
    boxed_extract: (vector) => extracted(vector, firstStatedNumber, false),
  },
}

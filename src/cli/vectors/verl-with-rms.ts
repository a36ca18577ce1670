import { dispatch } from './dispatch.ts'
import { expandAnswers } from './expand-config.ts'
import { riderAnswers } from './rider.ts'
import { stockAnswers } from './stock.ts'
import { type Adapter, wanted } from './vector.ts'
import { combineAnswers } from './verl-combine.ts'
import { yesNoAnswers } from './yes-no-judge.ts'

const singlePrecision = new Set(['combine', 'pipeline'])

export const verlWithRms: Adapter = {
  tolerance: (file) => (singlePrecision.has(file) ? 1e-6 : 1e-9),
  answers: {
    ...riderAnswers,
    ...yesNoAnswers,
    ...stockAnswers,
    ...combineAnswers,
    ...expandAnswers,
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

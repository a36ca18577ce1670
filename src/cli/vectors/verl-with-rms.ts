import { riderAnswers } from './rider.ts'
import { stockAnswers } from './stock.ts'
import { type Adapter, wanted } from './vector.ts'
import { yesNoAnswers } from './yes-no-judge.ts'

export const verlWithRms: Adapter = {
  answers: { ...riderAnswers, ...yesNoAnswers, ...stockAnswers },
  /** A fenced question comes with the nonce of its fences. */
  wanted: (vector, mode) => {
    const want = wanted(vector, mode)
    return typeof want === 'object' && want !== null && 'nonce' in want
      ? (want as { value?: unknown }).value
      : want
  },
}

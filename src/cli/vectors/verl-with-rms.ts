import { riderAnswers } from './rider.ts'
import { stockAnswers } from './stock.ts'
import type { Adapter } from './vector.ts'
import { yesNoAnswers } from './yes-no-judge.ts'

export const verlWithRms: Adapter = { answers: { ...riderAnswers, ...yesNoAnswers, ...stockAnswers } }

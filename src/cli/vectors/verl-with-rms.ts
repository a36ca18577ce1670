import { riderAnswers } from './rider.ts'
import type { Adapter } from './vector.ts'

export const verlWithRms: Adapter = { answers: riderAnswers }

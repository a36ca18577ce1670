import { expandConfig, type Tree } from '../../import/expand-config.ts'
import type { Answer } from './vector.ts'

export const expandAnswers: Readonly<Record<string, Answer>> = {
  expand_config: ({ input }) => expandConfig(input.config as Tree),
}

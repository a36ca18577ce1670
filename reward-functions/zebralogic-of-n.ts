import { z } from 'zod'
import { defineGroupRule, mode } from '../src/contract/index.ts'
import { afterThink } from '../src/grading/index.ts'
import {
  chosenMarks,
  publishedCell,
  publishedPrediction,
  strictCell,
  strictPrediction,
  zebraCells,
  zebraChoices,
} from '../src/grading/zebra.ts'
import zebralogic from './zebralogic.ts'

/** ZebraLogic for a group: one answer is picked or voted from all answers, and every row gets its score. */
export default defineGroupRule({
  truth: zebralogic.truth({ mode: 'strict' }),
  options: z.strictObject({
    mode,
    choice: z.enum(zebraChoices).default('majority'),
  }),
  range: [0, 1],
  parts: zebralogic.parts({ mode: 'strict' }),
  score(rows) {
    const [first] = rows
    if (!first) return []
    const { mode, choice } = first.options
    const cells = zebraCells(first.truth.header, first.truth.rows)
    const predictions = rows
      .map(({ sample: { response } }) =>
        mode === 'strict' ? strictPrediction(afterThink(response) ?? '') : publishedPrediction(response),
      )
      .filter((prediction) => prediction !== null)
    const [one, ...more] = predictions
    const marks = one
      ? chosenMarks(choice, cells, [one, ...more], mode === 'strict' ? strictCell : publishedCell)
      : { right: 0, reasoningLength: 0 }
    const parts = {
      parsed: Number(one !== undefined),
      correct_cells: marks.right,
      total_cells: cells.length,
      reasoning_length: marks.reasoningLength,
    }
    return rows.map(() => ({ value: Number(one !== undefined && marks.right === cells.length), parts }))
  },
})

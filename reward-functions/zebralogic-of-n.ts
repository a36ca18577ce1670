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

/**
 * ZebraLogic for a group. Picks one answer from all, or votes on each cell, and pays every row 1 if that
 * solves the puzzle, else 0.
 *
 * Invalid: a ground truth that is not a table with `header` and `rows`.
 */
export default defineGroupRule({
  truth: zebralogic.truth({ mode: 'strict' }),
  options: z.strictObject({
    mode,
    /**
     * `majority`: the most frequent value of each cell. `best`: the answer with the most right cells. `most_common`,
     * `middle_common`, `least_common`: by how often its cells occur. `longest`, `median`, `shortest`: by the length of
     * its reasoning.
     */
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

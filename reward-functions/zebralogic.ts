import { z } from 'zod'
import { defineRule, mode } from '../src/contract/index.ts'
import { afterThink } from '../src/grading/index.ts'
import {
  publishedCell,
  publishedPrediction,
  rightCells,
  strictCell,
  strictPrediction,
  zebraCells,
} from '../src/grading/zebra.ts'

const table = z.object({ header: z.array(z.string()).min(2), rows: z.array(z.array(z.string())).min(1) })

/**
 * ZebraLogic. The response holds `{"reasoning", "solution": {"House 1": {"Name": ...}}}`. Pays 1 if every
 * cell is right, else 0.
 *
 * Invalid: a ground truth that is not a table with `header` and `rows`, as an object or as JSON text. In
 * `published` mode also an answer at which the published code raises an error.
 */
export default defineRule({
  truth: z.union([
    table,
    z
      .string()
      .transform((text) => JSON.parse(text))
      .pipe(table),
  ]),
  options: z.strictObject({ mode }),
  range: [0, 1],
  parts: ['parsed', 'correct_cells', 'total_cells', 'reasoning_length'],
  score({ sample: { response }, truth: { header, rows }, options: { mode } }) {
    const cells = zebraCells(header, rows)
    const prediction =
      mode === 'strict' ? strictPrediction(afterThink(response) ?? '') : publishedPrediction(response)
    const right = prediction
      ? rightCells(cells, prediction.solution, mode === 'strict' ? strictCell : publishedCell)
      : 0
    return {
      value: Number(prediction !== null && right === cells.length),
      parts: {
        parsed: Number(prediction !== null),
        correct_cells: right,
        total_cells: cells.length,
        reasoning_length: prediction?.reasoningLength ?? 0,
      },
      ...(prediction ? {} : { details: { reason: 'no object with a solution' } }),
    }
  },
})

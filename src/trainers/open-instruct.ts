import { z } from 'zod'
import { type Wire, wireRoute } from './format.ts'
import { readLabel } from './ground-truth.ts'
import { runQuery } from './request-schema.ts'
import { wireSample } from './row-sample.ts'

/** Seconds that are left for the way there and back. */
const margin = 2

const route = wireRoute({
  summary: 'Open-Instruct: --code_api_url, for rows of the data set "code"',
  body: z.object({
    program: z.string().describe('The last fenced block of the response, else the whole.'),
    tests: z
      .unknown()
      .optional()
      .describe("The row's label: the ground truth, or an object that carries more."),
    max_execution_time: z.number().positive().default(1),
  }),
  query: runQuery,
  invalid: 'number',
  read({ program, tests, max_execution_time: perTest }, { oddities, maxRowValues }) {
    const label = readLabel(tests, maxRowValues)
    const row = wireSample({ id: '0', prompt: '', response: program, label, oddities })
    return {
      rows: [row],
      deadlineMs: (patience(perTest) - margin) * 1000,
      write: ([answer]) => ({ results: [answer?.reward], runtimes: [0] }),
    }
  },
})

/** What the client waits, seconds, by its own rule. */
const patience = (perTest: number): number => Math.max(30, Math.min(300, 10 * perTest))

/** Open-Instruct's code API: the score is the mean of `results`; anything but 200 scores 0 there. */
export const openInstruct: Wire = {
  name: 'open-instruct',
  deadlineS: patience(1) - margin,
  routes: { '': route, '/test_program': route, '/test_program_stdio': route },
}

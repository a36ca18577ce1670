import { z } from 'zod'
import { type TrainerFormat, trainerRoute } from './format.ts'
import { readLabel } from './ground-truth.ts'
import { runQuery } from './request-schema.ts'
import { rowSample } from './row-sample.ts'

/** Seconds reserved for the network. */
const margin = 2

const route = trainerRoute({
  summary: 'Open-Instruct: --code_api_url, for rows of the data set "code"',
  body: z.object({
    program: z.string().describe('The last fenced block of the response, or all of it.'),
    tests: z
      .unknown()
      .optional()
      .describe("The row's label: the ground truth, or an object with it and other fields."),
    max_execution_time: z.number().positive().default(1),
  }),
  query: runQuery,
  invalid: 'number',
  read({ body: { program, tests, max_execution_time: perTest }, literals, maxRowValues }) {
    const label = readLabel(tests, maxRowValues)
    const row = rowSample({ id: '0', prompt: '', response: program, label, literals })
    return {
      rows: [row],
      deadlineMs: (patience(perTest) - margin) * 1000,
      write: ([answer]) => ({ results: [answer?.reward], runtimes: [0] }),
    }
  },
})

/** The client's own rule for how long it waits, in seconds. */
const patience = (perTest: number): number => Math.max(30, Math.min(300, 10 * perTest))

/** Open-Instruct's code API. Its client takes the mean of `results` as the score, and any status but 200 as 0. */
export const openInstruct: TrainerFormat = {
  name: 'open-instruct',
  deadlineS: patience(1) - margin,
  routes: { '': route, '/test_program': route, '/test_program_stdio': route },
  facts: {
    '/health': { summary: 'Open-Instruct: what its own server answers', read: () => ({ status: 'healthy' }) },
  },
}

import { renderedText, type TrainerCase } from '../case.ts'

/** It sends no truth: the gateway knows it from a file. */
export const cases: Readonly<Record<string, TrainerCase>> = {
  'llama-factory': {
    path: '/wire/llama-factory/judged',
    rows: 4,
    body: (rows) => ({ model: 'model', messages: rows.map(renderedText) }),
    read: (reply) => (JSON.parse(reply) as { scores: number[] }).scores,
  },
}

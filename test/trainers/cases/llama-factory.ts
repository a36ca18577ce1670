import { renderedText, type WireCase } from '../case.ts'

/** It sends no truth: the gateway knows it from a file. */
export const cases: Readonly<Record<string, WireCase>> = {
  'llama-factory': {
    path: '/wire/llama-factory/judged',
    rows: 4,
    body: (rows) => ({ model: 'model', messages: rows.map(renderedText) }),
    read: (reply) => (JSON.parse(reply) as { scores: number[] }).scores,
  },
}

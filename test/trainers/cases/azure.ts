import { single, type TrainerCase, turns } from '../case.ts'

export const cases: Readonly<Record<string, TrainerCase>> = {
  azure: single(
    (row) => ({
      sample: { output_text: row.response },
      item: { messages: turns(row).slice(0, 1), reference_answer: row.truth },
      trace_id: row.id,
    }),
    '/wire/azure/judged',
    ({ score }: { score: number }) => score,
  ),
}

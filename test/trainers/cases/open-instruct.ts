import { single, type TrainerCase } from '../case.ts'

export const cases: Readonly<Record<string, TrainerCase>> = {
  'open-instruct': single(
    // It sends no prompt: the label tells the judges what was asked.
    ({ question, response, truth }) => ({
      program: response,
      tests: { ground_truth: truth, rm_prompt: question },
    }),
    '/wire/open-instruct/judged',
    ({ results }: { results: number[] }) => results[0] ?? null,
  ),
}

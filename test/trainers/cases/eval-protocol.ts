import { single, type TrainerCase, turns } from '../case.ts'

export const cases: Readonly<Record<string, TrainerCase>> = {
  'eval-protocol': single(
    (row) => ({ messages: turns(row), ground_truth: row.truth }),
    '/wire/eval-protocol/judged',
    ({ score, is_score_valid }: { score: number; is_score_valid: boolean }) =>
      is_score_valid ? score : null,
  ),
}

import { type Row, single, type TrainerCase } from '../case.ts'

const verify = ({ question, response, truth }: Row) => ({
  expected_answer: truth,
  responses_create_params: { input: [{ role: 'user', content: question }] },
  response: {
    id: 'r',
    output: [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: response }] }],
  },
})

/** axolotl's plug-in speaks the same form, and has no word for 'invalid'. */
export const cases: Readonly<Record<string, TrainerCase>> = {
  'nemo-gym': single(
    verify,
    '/wire/nemo-gym/judged/verify',
    ({ reward, mask_sample }: { reward: number; mask_sample: boolean }) => (mask_sample ? null : reward),
  ),
  axolotl: single(verify, '/wire/axolotl/judged/verify', ({ reward }: { reward: number }) => reward),
}

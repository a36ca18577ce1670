import { type Row, single, type TrainerCase } from '../case.ts'

const body = ({ question, response, truth }: Row) => ({ prompt: question, response, label: truth })

export const cases: Readonly<Record<string, TrainerCase>> = {
  slime: single(body, '/wire/slime/judged', (reply: number) => reply),
  'slime-object': single(
    body,
    '/wire/slime/judged?reward_key=acc',
    ({ acc, invalid }: { acc: number; invalid: number }) => (invalid ? null : acc),
  ),
}

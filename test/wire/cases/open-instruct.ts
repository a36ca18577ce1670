import { single, type WireCase } from '../case.ts'

export const cases: Readonly<Record<string, WireCase>> = {
  'open-instruct': single(
    ({ response, truth }) => ({ program: response, tests: truth }),
    '/wire/open-instruct/judged',
    ({ results }: { results: number[] }) => results[0] ?? null,
  ),
}

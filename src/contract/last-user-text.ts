import type { Sample } from '../sample/sample.ts'

/** The last thing that was asked: the last user message, else the last message; '' where there is none. */
export function lastUserText({ prompt }: Pick<Sample, 'prompt'>): string {
  if (typeof prompt === 'string') return prompt
  return (prompt.findLast(({ role }) => role === 'user') ?? prompt.at(-1))?.content ?? ''
}

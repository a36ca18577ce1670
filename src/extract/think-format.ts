import { trimSpace } from './white-space.ts'

/** Whether a response opens with `<think>` and a newline. */
export function opensThinking(response: string): boolean {
  return response.startsWith('<think>\n')
}

/** The same, with one pair of tags, something between them and something after them. Linear. */
export function isThoughtThenAnswer(response: string): boolean {
  const [before, inside, ...more] = response.split('<think>')
  if (before !== '' || inside === undefined || more.length > 0 || !opensThinking(response)) return false
  const [thought = '', answer = '', ...rest] = inside.split('</think>')
  return rest.length === 0 && trimSpace(thought) !== '' && trimSpace(answer) !== ''
}

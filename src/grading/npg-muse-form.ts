import { trimSpace } from './characters.ts'
import { hasLoop, hasSampledLoop } from './repetition.ts'

/** What NPG-Muse asks of a response's form, in either mode: whether it is formed, and whether it loops. */
export const npgMuseForm = {
  sound: { isFormed: isThoughtThenAnswer, loops: hasLoop },
  reference: { isFormed: opensThinking, loops: hasSampledLoop },
} as const

/** Whether a response opens with `<think>` and a newline. */
function opensThinking(response: string): boolean {
  return response.startsWith('<think>\n')
}

/** The same, with one pair of tags, something between them and something after them. Linear. */
function isThoughtThenAnswer(response: string): boolean {
  const [before, inside, ...more] = response.split('<think>')
  if (before !== '' || inside === undefined || more.length > 0 || !opensThinking(response)) return false
  const [thought = '', answer = '', ...rest] = inside.split('</think>')
  return rest.length === 0 && trimSpace(thought) !== '' && trimSpace(answer) !== ''
}

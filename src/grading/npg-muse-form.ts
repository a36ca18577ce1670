import { isBlank } from './characters.ts'
import { hasLoop, hasSampledLoop } from './repetition.ts'

/** NPG-Muse's checks of a response's form, by mode: whether it is well-formed, and whether it loops. */
export const npgMuseForm = {
  strict: { isFormed: isThoughtThenAnswer, loops: hasLoop },
  published: { isFormed: opensThinking, loops: hasSampledLoop },
} as const

/** Whether a response opens with `<think>` and a newline. */
function opensThinking(response: string): boolean {
  return response.startsWith('<think>\n')
}

/** Also requires a single pair of tags, with visible text inside and after it. Linear. */
function isThoughtThenAnswer(response: string): boolean {
  return opensThinking(response) && thinksThenAnswers(response)
}

/** The same with line breaks of either kind, and with blank text before the first tag. Linear. */
export function thinksThenAnswers(response: string): boolean {
  const [before = '', inside, ...more] = response.split('<think>')
  if (!isBlank(before) || inside === undefined || more.length > 0 || !/^\r?\n/.test(inside)) return false
  const [thought = '', answer = '', ...rest] = inside.split('</think>')
  return rest.length === 0 && !isBlank(thought) && !isBlank(answer)
}

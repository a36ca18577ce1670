/** What a rollout answers, without the thinking before it: what judges are shown unless they ask for more. */
import { isBlank, type Sample } from '../core/sample/sample.ts'

/**
 * Where a response's thinking begins. `auto`: at a `<think>` in the response, or in the prompt if it ends with one.
 * `opened`: the chat template always opens it, so a response without `</think>` is nothing but thinking.
 */
export type Thinking = 'auto' | 'opened'

/** The answer, and what there is to know about it. */
export interface FinalAnswer {
  /** '' if there is none. */
  readonly text: string
  /**
   * `thinking_unseen`: something precedes the answer. `thinking_repeated`: thinking ends more than once.
   * `no_final_answer`: nothing follows the thinking, or it never ends.
   */
  readonly flags: readonly ('thinking_unseen' | 'thinking_repeated' | 'no_final_answer')[]
}

const open = '<think>'
const close = '</think>'

/**
 * The text after the last `</think>`, without outer white space. A `<think>` or `</think>` that the answer shows as code
 * is text. If the trainer sent the reasoning apart, the whole response is the answer.
 *
 * @example
 * ```ts
 * import { finalAnswer } from 'reward-gateway/contract'
 *
 * finalAnswer({ prompt: '2 + 2?', response: '<think>2 + 2</think>4' }).text // '4'
 * ```
 */
export function finalAnswer(
  sample: Pick<Sample, 'prompt' | 'response' | 'turns'>,
  thinking: Thinking = 'auto',
): FinalAnswer {
  const { prompt, response, turns } = sample
  if (typeof prompt !== 'string' || turns) return answerIn(sample, thinking)
  if (latest?.response !== response || latest.prompt !== prompt || latest.thinking !== thinking)
    latest = { prompt, response, thinking, answer: answerIn(sample, thinking) }
  // Its own list: a caller may add to it.
  return { text: latest.answer.text, flags: [...latest.answer.flags] }
}

/** A judge's question asks four times: whether there is an answer, whether it is blank, for its text and for its flags. */
let latest: { prompt: string; response: string; thinking: Thinking; answer: FinalAnswer } | undefined

function answerIn(
  { prompt, response, turns }: Pick<Sample, 'prompt' | 'response' | 'turns'>,
  thinking: Thinking,
): FinalAnswer {
  if (turns?.findLast(({ role }) => role === 'assistant')?.reasoning !== undefined)
    return { text: response, flags: isBlank(response) ? ['no_final_answer'] : ['thinking_unseen'] }
  const end = firstClose(response)
  if (end < 0 && (thinking === 'opened' || opensThinking(prompt))) return thoughtOnly
  if (end < 0 && !response.includes(open)) return { text: response, flags: [] }
  const first = end < 0 ? 0 : end + close.length
  const { start, isThinking } = lastAnswer(response, first)
  if (isThinking) return thoughtOnly
  const text = response.slice(start).trim()
  if (isBlank(text)) return thoughtOnly
  if (start === 0) return { text: response, flags: [] }
  return { text, flags: start > first ? ['thinking_unseen', 'thinking_repeated'] : ['thinking_unseen'] }
}

/**
 * The first `</think>`. Models leave code open in their thinking, so code hides no end; only a response that does not begin
 * with `<think>` may quote the tag.
 */
function firstClose(text: string): number {
  let at = text.indexOf(close)
  if (/^\s*<think>/.test(text)) return at
  while (at >= 0 && text[at - 1] === '`' && text[at + close.length] === '`') at = text.indexOf(close, at + 1)
  return at
}

const thoughtOnly: FinalAnswer = { text: '', flags: ['no_final_answer'] }

/** Whether the chat template left the prompt with open thinking, as a rendered prompt or a prefilled turn shows. */
function opensThinking(prompt: Sample['prompt']): boolean {
  const end = typeof prompt === 'string' ? prompt : prompt.at(-1)
  const text = typeof end === 'string' ? end : end?.role === 'assistant' ? end.content : ''
  return text.trimEnd().endsWith(open)
}

/** Marks of thinking, lines that open or close a block of code, and code within a line. */
const marks = /<\/?think>|^ {0,3}(`{3,}|~{3,})[^\n]*|(?<!`)(`{1,2})(?!`)[^`\n]{1,200}\2(?!`)/gm

/** The last answer at or after an offset. Thinking may begin again in it; code is no thinking, and no thinking is code. */
function lastAnswer(text: string, from: number): { readonly start: number; readonly isThinking: boolean } {
  let start = from
  let isThinking = false
  let fence = ''
  marks.lastIndex = from
  for (let mark = marks.exec(text); mark !== null; mark = marks.exec(text)) {
    const [whole, line = ''] = mark
    if (line !== '' && !isThinking) {
      if (fence === '') fence = line
      else if (line.startsWith(fence) && whole.trim() === line) fence = ''
    } else if (whole === open && fence === '') isThinking = true
    else if (whole === close && (isThinking || fence === '')) {
      isThinking = false
      start = mark.index + whole.length
    } else if (isThinking && !whole.startsWith('<')) {
      // What stands in the thinking may hide its end.
      marks.lastIndex = mark.index + 1
    }
  }
  marks.lastIndex = 0
  return { start, isThinking }
}

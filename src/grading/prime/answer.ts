import { lastBracedBox } from '../latex/box.ts'
import { trimSpace } from '../white-space.ts'

const before = ['answer:', 'answer is', 'answers are']
const after = ['is answer', 'is the answer', 'are answers', 'are the answers']
const lastWords = ['be ', 'is ', 'are ', '=', ': ', 'get ', 'be\n', 'is\n', 'are\n', ':\n', 'get\n']

/** What PRIME takes for the answer of a whole response: after or before a phrase, in a box, after the last `is`, `=`, ... */
export function primeAnswer(response: string): string {
  let answer = new Searchable(response)
  for (const phrase of before) answer = answer.after(phrase)
  for (const phrase of after) answer = answer.upTo(phrase)
  answer = new Searchable(lastBracedBox(answer.text) || answer.text)
  const end = answer.text.lastIndexOf('. ')
  if (end >= 0) answer = new Searchable(trimSpace(answer.text.slice(0, end)))
  for (const phrase of lastWords) answer = answer.after(phrase)
  return answer.text
}

/** A text with its lower-case form, which is made once. */
class Searchable {
  readonly text: string
  private readonly lower: string

  constructor(text: string) {
    this.text = text
    this.lower = text.toLowerCase()
  }

  after(phrase: string): Searchable {
    const at = this.lower.lastIndexOf(phrase)
    return at < 0 ? this : new Searchable(trimSpace(this.text.slice(at + phrase.length)))
  }

  upTo(phrase: string): Searchable {
    const at = this.lower.lastIndexOf(phrase)
    return at < 0 ? this : new Searchable(trimSpace(this.text.slice(0, at)))
  }
}

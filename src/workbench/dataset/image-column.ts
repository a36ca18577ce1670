/** The column `images` of data sets such as verl's Geometry3K, as parts of the row's prompt. */
import { type Fields, isObject } from './row.ts'

const mark = '<image>'

/**
 * The row with its images where `<image>` stands in the prompt, as verl puts them; images without such a mark stand before the
 * last question. The same row if it has none.
 */
export function withImageColumn(row: Fields): Fields {
  const { images, ...rest } = row
  const given = Array.isArray(images) ? images : images === undefined || images === null ? [] : [images]
  const { prompt } = row
  const isPrompt = typeof prompt === 'string' || Array.isArray(prompt)
  if (given.length === 0 || !isPrompt) return 'images' in row && given.length === 0 ? rest : row
  const left = given.map(partOf)
  const asked: unknown[] = typeof prompt === 'string' ? [{ role: 'user', content: prompt }] : prompt
  const messages = asked.map((message) => {
    if (!isObject(message) || typeof message.content !== 'string' || !message.content.includes(mark))
      return message
    return { ...message, content: placed(message.content, left) }
  })
  if (left.length > 0) {
    const last = messages.findLastIndex((one) => isObject(one) && one.role === 'user')
    const message = messages[last] as Fields | undefined
    if (message) messages[last] = { ...message, content: [...left, ...partsOf(message.content)] }
    else messages.push({ role: 'user', content: left })
  }
  return { ...rest, prompt: messages }
}

/** A data URL, base64, an address or a path; or an object with `bytes` in base64 or a `path`. */
const partOf = (image: unknown): object =>
  isObject(image) ? { ...image, type: 'image' } : { type: 'image', image }

/** Takes from `left` what it places. A mark without an image stays text. */
function placed(content: string, left: object[]): readonly object[] {
  const [first = '', ...others] = content.split(mark)
  const parts: object[] = [{ type: 'text', text: first }]
  for (const text of others) {
    const image = left.shift()
    parts.push(image ?? { type: 'text', text: mark }, { type: 'text', text })
  }
  return parts.filter((part) => !('text' in part && part.text === ''))
}

const partsOf = (content: unknown): readonly unknown[] =>
  Array.isArray(content) ? content : [{ type: 'text', text: typeof content === 'string' ? content : '' }]

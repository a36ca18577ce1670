import { cyrb53 } from '../core/hash.ts'
import { imageHeader } from '../core/sample/image.ts'

/** One turn of a conversation as the model sees it. */
export interface Turn {
  readonly role: string
  readonly content: string
}

const opening = '<|im_start|>'
const closing = '<|im_end|>'

/** Renders a conversation in ChatML. `addGenerationPrompt` opens the model's turn. */
export function renderChat(turns: readonly Turn[], addGenerationPrompt: boolean): string {
  let text = ''
  for (const { role, content } of turns) text += `${opening}${role}\n${content}${closing}\n`
  return addGenerationPrompt ? `${text}${opening}assistant\n` : text
}

/** The turns of a rendered text: its ChatML turns, or else one user turn. */
export function readChat(text: string): Turn[] {
  if (!text.includes(opening)) return [{ role: 'user', content: text }]
  const turns: Turn[] = []
  for (const piece of text.split(opening)) {
    const lineEnd = piece.indexOf('\n')
    const role = (lineEnd < 0 ? piece : piece.slice(0, lineEnd)).trim()
    if (role === '' || role.length > 20) continue
    const end = piece.indexOf(closing)
    const content = lineEnd < 0 ? '' : piece.slice(lineEnd + 1, end < 0 ? undefined : end)
    turns.push({ role, content })
  }
  return isOpen(turns.at(-1)) ? turns.slice(0, -1) : turns
}

/** The last turn is the start of the model's answer. */
function isOpen(turn: Turn | undefined): boolean {
  return turn?.role === 'assistant' && turn.content === ''
}

/** Reads a request's `messages` and joins their parts. null: not a list of turns. */
export function readMessages(messages: unknown): Turn[] | null {
  if (!Array.isArray(messages) || messages.length === 0) return null
  const turns: Turn[] = []
  for (const message of messages as readonly unknown[]) {
    if (typeof message !== 'object' || message === null) return null
    const { role, content } = message as Record<string, unknown>
    const text = readContent(content)
    if (typeof role !== 'string' || text === null) return null
    turns.push({ role, content: text })
  }
  return turns
}

function readContent(content: unknown): string | null {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return content === null || content === undefined ? '' : null
  const texts = (content as readonly unknown[]).map((part) =>
    typeof part === 'object' && part !== null ? partText(part as Record<string, unknown>) : part,
  )
  return texts.every((text) => typeof text === 'string') ? texts.join('\n') : null
}

const partText = ({ text, image_url: image }: Record<string, unknown>): unknown =>
  typeof image === 'object' && image !== null ? imageText((image as Record<string, unknown>).url) : text

/** Base64 of the bytes that tell the size of most images. */
const headLength = 4096
const pad = '<|image_pad|>'

/** An image as text: placeholders for as many tokens as Qwen's models make of it. null: none that a model can read. */
function imageText(url: unknown): string | null {
  if (typeof url !== 'string') return null
  const data = /^data:image\/[a-z]+;base64,/.exec(url.slice(0, 64))?.[0]
  if (data === undefined && !/^https?:\/\//.test(url)) return null
  const head =
    data === undefined ? null : imageHeader(Buffer.from(url.slice(data.length, headLength), 'base64'))
  if (data !== undefined && head === null) return null
  const tokens = head ? Math.min(Math.ceil((head.width * head.height) / 784), 16_384) : 1024
  return `<|vision_start|>${cyrb53(url)}${pad.repeat(tokens)}<|vision_end|>`
}

/** Takes prompt and response apart, for trainers that send both as one decoded text. */
import { createHash } from 'node:crypto'
import type { Message, Part, Sample } from '../../core/sample/sample.ts'
import type { GroundTruthIndex } from '../ground-truth-index.ts'
import { type ChatTemplate, chatTemplates, fillers } from './templates.ts'

/** Prompt and response, or why they cannot be told apart. */
type Separated = Pick<Sample, 'prompt' | 'response'> | { readonly problem: string }

/** What else the request says. */
interface SeparationHints {
  /** The rendered prompt. */
  readonly prompt?: string | undefined
  /** A template's name, or `none`: the text is all response. */
  readonly template?: string | undefined
  readonly groundTruths: GroundTruthIndex | null
}

/** The most assistant turns at which the response may begin. */
const mostCuts = 64

/**
 * Separates one decoded text. Without the rendered prompt, the response begins at the first assistant turn, or at the
 * first one whose prompt has a ground truth. A later look-alike in the response therefore never cuts it short.
 */
export function separate(text: string, hints: SeparationHints): Separated {
  const { prompt, template: name, groundTruths } = hints
  const named = chatTemplates.find((one) => one.name === name)
  // With an empty prompt, the policy's question would become part of the response.
  if (prompt) {
    const template = name === 'none' ? null : (named ?? templateOf(prompt))
    const response = responseAfter(text, prompt)
    if (response !== null)
      return { prompt: readPrompt(prompt, template), response: closed(response, template) }
  }
  if (name === 'none') return { prompt: prompt ?? '', response: closed(text, null) }
  const template = named ?? templateOf(text)
  if (!template) {
    const why = prompt === undefined ? '' : 'it does not begin with its prompt, and '
    return {
      problem: `${why}it begins with no known chat template; add ?template=NAME to the address, or ?template=none`,
    }
  }
  const cuts = cutsOf(text, template)
  const known = cuts.length > 1 ? cuts.find(({ before }) => groundTruths?.find(before)) : undefined
  const cut = known ?? cuts[0]
  if (!cut) return { problem: `the template ${template.name} has no assistant turn in it` }
  return { prompt: cut.before, response: closed(text.slice(cut.at), template) }
}

type Conversation = string | readonly Message[]

/** A prompt and its rollout. `segments`: the index of the turn with which each begins. */
interface Rendered {
  readonly prompt: Conversation
  readonly response: Conversation
  readonly segments?: readonly number[]
}

/**
 * A prompt and its rollout, whose texts a template rendered: the prompt's turns, the policy's texts without end tokens, and
 * the turns of what came from outside. What the policy wrote is never taken apart.
 */
export function readRendered(rollout: Rendered, name: string | undefined): Rendered {
  const template = chatTemplates.find((one) => one.name === name)
  if (!template) return rollout
  const { prompt, response, segments } = rollout
  const asked = typeof prompt === 'string' ? readPrompt(prompt, template) : prompt
  if (typeof response === 'string') return { prompt: asked, response: closed(response, template) }
  const read: Message[] = []
  const places = response.map((turn) => {
    const place = read.length
    read.push(...readTurn(turn, template))
    return place
  })
  const starts = segments?.map((start) => places[start] ?? read.length)
  return { prompt: asked, response: read, ...(starts && { segments: starts }) }
}

function readTurn(turn: Message, template: ChatTemplate): readonly Message[] {
  const { role, content, parts } = turn
  if (parts || (role !== 'environment' && role !== 'assistant')) return [turn]
  if (role === 'assistant') return [{ ...turn, content: closed(content, template) }]
  const turns = [...turnsOf(content, template)]
  if (turns.at(-1)?.role === 'assistant' && turns.at(-1)?.content === '') turns.pop()
  if (turns.length === 0) return [{ ...turn, content: closed(content, template) }]
  return turns.flatMap(({ role, content }): readonly Message[] => {
    const said = closed(content, template)
    // A turn in the policy's name that no segment wrote, or the end of one.
    return said === ''
      ? []
      : [withImages(role === 'assistant' || role === 'system' ? 'environment' : role, said)]
  })
}

/** null: the text does not begin with the prompt. Fillers before either are ignored. */
function responseAfter(text: string, prompt: string): string | null {
  if (text.startsWith(prompt)) return text.slice(prompt.length)
  const start = afterFillers(text)
  const bare = prompt.slice(afterFillers(prompt))
  return bare !== '' && text.startsWith(bare, start) ? text.slice(start + bare.length) : null
}

/** The turns of the rendered prompt, without the assistant turn that it opens. Without a template, the text itself. */
function readPrompt(prompt: string, template: ChatTemplate | null): Sample['prompt'] {
  const turns = template ? [...turnsOf(prompt, template)] : []
  if (turns.at(-1)?.role === 'assistant') turns.pop()
  if (turns.length > 0) return turns.map(({ role, content }) => withImages(role, content))
  const asked = withImages('user', prompt)
  return asked.parts ? [asked] : prompt
}

/** What processors put in place of an image or a film: one stretch of them is one. */
const imageTokens =
  /(?:<\|vision_start\|>)?(?:<\|(?:image_pad|video_pad|image|image_start|image_end|vision_end|patch)\|>|<(?:start_of_image|image_soft_token|end_of_image)>|\[IMG(?:_BREAK|_END)?\])+/g

const unknownImage = createHash('sha256').update('').digest('hex')

/** A turn of a rendered prompt. The tokens of an image, whose bytes these trainers do not send, become a part. */
function withImages(role: string, content: string): Message {
  if (role === 'assistant' || content.search(imageTokens) === -1) return { role, content }
  const parts: Part[] = []
  let from = 0
  const addText = (text: string) => text !== '' && parts.push({ type: 'text', text })
  for (const { 0: tokens, index } of content.matchAll(imageTokens)) {
    addText(content.slice(from, index))
    parts.push({ type: 'image', sha256: unknownImage, size: 0 })
    from = index + tokens.length
  }
  addText(content.slice(from))
  return { role, content: parts.map((part) => (part.type === 'text' ? part.text : '')).join(''), parts }
}

/** The template that the conversation begins with, or null. */
function templateOf(text: string): ChatTemplate | null {
  const start = afterFillers(text)
  const lengths = chatTemplates.map((template) => ({
    template,
    length: openingLength(template, text, start),
  }))
  const longest = lengths.reduce((best, one) => (one.length > best.length ? one : best))
  if (longest.length > 0) return longest.template
  const hasUser = ({ opens }: ChatTemplate) =>
    opens.some(([open, role]) => role === 'user' && text.includes(open))
  return chatTemplates.find((one) => one.bareSystem && hasUser(one)) ?? null
}

const openingLength = ({ opens }: ChatTemplate, text: string, start: number): number =>
  Math.max(...opens.map(([open]) => (text.startsWith(open, start) ? open.length : 0)))

/** A place where the response may begin, and the turns before it. */
interface Cut {
  /** The index after the opening text. */
  readonly at: number
  readonly before: readonly Message[]
}

function cutsOf(text: string, template: ChatTemplate): readonly Cut[] {
  const cuts: Cut[] = []
  const before: Message[] = []
  for (const { role, content, at } of turnsOf(text, template)) {
    if (role === 'assistant' && cuts.push({ at, before: [...before] }) === mostCuts) break
    before.push(withImages(role, content))
  }
  return cuts
}

interface Turn extends Message {
  /** The index after the opening text. */
  readonly at: number
}

/** The most turns that are read of a text, which may repeat an opening text a million times. */
const mostTurns = 16_384

/** The turns of a text in order. The last one may be unfinished. */
function* turnsOf(text: string, template: ChatTemplate): Generator<Turn> {
  const { opens, gap = '' } = template
  const roleOf = new Map(opens)
  const pattern = new RegExp(
    [...roleOf.keys()]
      .sort((a, b) => b.length - a.length)
      .map(escaped)
      .join('|'),
    'g',
  )
  let open = pattern.exec(text)
  if (!open) return
  const start = text.slice(0, open.index)
  const lead = start.slice(afterFillers(start)).trim()
  let count = 0
  if (lead !== '') {
    count += 1
    yield { role: 'system', content: lead, at: open.index }
  }
  while (open) {
    const start = open.index + open[0].length
    const at = gap !== '' && text.startsWith(gap, start) ? start + gap.length : start
    const role: string = roleOf.get(open[0]) ?? 'user'
    open = pattern.exec(text)
    for (const turn of split(role, text.slice(at, open?.index), at, template)) {
      if (count === mostTurns) return
      count += 1
      yield turn
    }
  }
}

const llama2System = ['<<SYS>>\n', '\n<</SYS>>\n\n'] as const

/** One turn, or two: Llama 2 puts the system prompt into the first user turn. */
function split(role: string, written: string, at: number, template: ChatTemplate): readonly Turn[] {
  const turnOf = (text: string): Turn => ({ role, content: closed(text, template).trim(), at })
  const [open, close] = llama2System
  const end = role === 'user' && written.startsWith(open) ? written.indexOf(close) : -1
  if (end === -1) return [turnOf(written)]
  const system = { role: 'system', content: written.slice(open.length, end), at }
  return [system, turnOf(written.slice(end + close.length))]
}

/** The most fillers and closing texts that are removed at one end of a text. */
const mostTokens = 4096

/** Removes the closing texts and fillers at the end, with the white space around them. Linear. */
function closed(text: string, template: ChatTemplate | null): string {
  const closes = [...(template?.closes ?? []), ...fillers]
  let end = text.length
  for (let count = 0; count < mostTokens; count++) {
    const rest = text.slice(0, end).trimEnd()
    const close = closes.find((one) => rest.endsWith(one))
    if (close === undefined) return text.slice(0, end)
    end = rest.length - close.length
  }
  return text.slice(0, end)
}

/** The index after the fillers at the start. */
function afterFillers(text: string): number {
  let at = 0
  for (let count = 0; count < mostTokens; count++) {
    const filler = fillers.find((one) => text.startsWith(one, at))
    if (filler === undefined) return at
    at += filler.length
  }
  return at
}

const escaped = (text: string): string => text.replace(/[|\\{}()[\]^$+*?.]/g, '\\$&')

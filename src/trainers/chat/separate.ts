import type { Message, Sample } from '../../core/sample/sample.ts'
import type { GroundTruthIndex } from '../ground-truth-index.ts'
import { type ChatTemplate, chatTemplates, fillers } from './templates.ts'

/** Prompt and response, or why they cannot be told apart. */
export type Separated = Pick<Sample, 'prompt' | 'response'> | { readonly problem: string }

/** What is known of a text that holds prompt and response. */
export interface Known {
  /** The prompt as it was rendered. */
  readonly prompt?: string | undefined
  /** A template's name, or `none`: the text is all response. */
  readonly template?: string | undefined
  readonly truths: GroundTruthIndex | null
}

const mostTurns = 64

/**
 * Prompt and response of one decoded text. Without the rendered prompt the response begins at the first assistant turn
 * (where truths are known: at the first whose prompt is among them), so that no look-alike in a response cuts it short.
 */
export function separate(text: string, { prompt, template: name, truths }: Known): Separated {
  const named = chatTemplates.find((one) => one.name === name)
  // An empty prompt would make the whole text the response, the policy's question included.
  if (prompt) {
    const template = name === 'none' ? null : (named ?? templateOf(prompt))
    const response = responseAfter(text, prompt)
    if (response !== null) return { prompt: read(prompt, template), response: closed(response, template) }
  }
  if (name === 'none') return { prompt: prompt ?? '', response: closed(text, null) }
  const template = named ?? templateOf(text)
  if (!template) {
    const why = prompt === undefined ? '' : 'it does not begin with its prompt, and '
    return {
      problem: `${why}no known chat template begins it; say ?template=NAME in the address, or none`,
    }
  }
  const cuts = cutsOf(text, template, mostTurns)
  const cut = (cuts.length > 1 && truths && cuts.find(({ before }) => truths.find(before))) || cuts[0]
  if (!cut) return { problem: `the template ${template.name} has no assistant turn in it` }
  return { prompt: cut.before, response: closed(text.slice(cut.at), template) }
}

/** null where the text does not begin with the prompt; tokens before either do not count. */
function responseAfter(text: string, prompt: string): string | null {
  if (text.startsWith(prompt)) return text.slice(prompt.length)
  const start = afterFillers(text)
  const bare = prompt.slice(afterFillers(prompt))
  return bare !== '' && text.startsWith(bare, start) ? text.slice(start + bare.length) : null
}

/** The rendered prompt's turns, without the assistant's that it opens; the text itself where no template is known. */
function read(prompt: string, template: ChatTemplate | null): Sample['prompt'] {
  const turns = template ? turnsOf(prompt, template) : []
  const asked = turns.at(-1)?.role === 'assistant' ? turns.slice(0, -1) : turns
  return asked.length > 0 ? asked : prompt
}

/** No conversation has more; what a text repeats a million times is not read to its end. */
const mostTurnsRead = 16_384
/** Nor does a text begin or end with more tokens of its template. */
const mostTokens = 4096

/** Where an assistant's turn begins in a text, and the turns above it. */
export interface Cut {
  /** Of the first character after the opening text. */
  readonly at: number
  readonly before: readonly Message[]
}

/** The template whose opening text begins the conversation; null: none is known. */
export function templateOf(text: string): ChatTemplate | null {
  const start = afterFillers(text)
  const begins = chatTemplates.filter(({ opens }) => opens.some(([open]) => text.startsWith(open, start)))
  // The longest opening text is meant.
  const [best] = begins.sort((a, b) => lengthAt(b, text, start) - lengthAt(a, text, start))
  if (best) return best
  const said = ({ opens }: ChatTemplate) =>
    opens.some(([open, role]) => role === 'user' && text.includes(open))
  return chatTemplates.find((one) => one.bareSystem && said(one)) ?? null
}

const lengthAt = ({ opens }: ChatTemplate, text: string, start: number): number =>
  Math.max(...opens.map(([open]) => (text.startsWith(open, start) ? open.length : 0)))

/** The turns of a whole text, the last one as far as it goes. */
export function turnsOf(text: string, template: ChatTemplate): readonly Message[] {
  const turns: Message[] = []
  for (const { role, content } of eachTurn(text, template)) {
    if (turns.length === mostTurnsRead) break
    turns.push({ role, content })
  }
  return turns
}

/** The beginnings of assistant turns, at most `most`, in their order. */
export function cutsOf(text: string, template: ChatTemplate, most: number): readonly Cut[] {
  const cuts: Cut[] = []
  const before: Message[] = []
  for (const { role, content, at } of eachTurn(text, template)) {
    if (before.length === mostTurnsRead) break
    if (role === 'assistant' && cuts.push({ at, before: [...before] }) === most) break
    before.push({ role, content })
  }
  return cuts
}

interface Turn extends Message {
  readonly at: number
}

function* eachTurn(text: string, template: ChatTemplate): Generator<Turn> {
  const { opens, gap = '' } = template
  const roleOf = new Map(opens)
  const pattern = new RegExp(
    [...roleOf.keys()]
      .sort((a, b) => b.length - a.length)
      .map(escaped)
      .join('|'),
    'g',
  )
  const first = pattern.exec(text)
  if (!first) return
  const lead = withoutFillers(text.slice(0, first.index)).trim()
  if (lead !== '') yield { role: 'system', content: lead, at: first.index }
  let open: RegExpExecArray | null = first
  while (open) {
    const start = open.index + open[0].length
    const at = gap !== '' && text.startsWith(gap, start) ? start + gap.length : start
    const role: string = roleOf.get(open[0]) ?? 'user'
    open = pattern.exec(text)
    yield* split(role, text.slice(at, open?.index), at, template)
  }
}

const llama2System = ['<<SYS>>\n', '\n<</SYS>>\n\n'] as const

/** One turn, closed; Llama 2 lays the system prompt into the first user turn. */
function* split(role: string, written: string, at: number, template: ChatTemplate): Generator<Turn> {
  const [open, close] = llama2System
  const end = role === 'user' && written.startsWith(open) ? written.indexOf(close) : -1
  if (end === -1) yield { role, content: closed(written, template).trim(), at }
  else {
    yield { role: 'system', content: written.slice(open.length, end), at }
    yield { role, content: closed(written.slice(end + close.length), template).trim(), at }
  }
}

/** Without the closing texts and fillers at its end, and the white space around these. Linear. */
export function closed(text: string, template: ChatTemplate | null): string {
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

/** The index after what tokenizers put before a conversation. */
export function afterFillers(text: string): number {
  let at = 0
  for (let count = 0; count < mostTokens; count++) {
    const filler = fillers.find((one) => text.startsWith(one, at))
    if (filler === undefined) return at
    at += filler.length
  }
  return at
}

const withoutFillers = (text: string): string => text.slice(afterFillers(text))

const escaped = (text: string): string => text.replace(/[|\\{}()[\]^$+*?.]/g, '\\$&')

/**
 * The guard stands between what an author's rm_preprocess made and what a judge is sent: it renders prompts so that
 * nothing in a sample can change a question's structure, and gives the question its identity.
 */
import { createHash, hash } from 'node:crypto'
import type { AskName, Asks, ChatPrompt, Prompt } from '../../contract/index.ts'
import { fullGuard, type GuardConfig } from '../../models/guard-config.ts'
import type { Rendered, RenderedInput } from '../../models/models.ts'
import { fence } from './fence.ts'
import { neutralised } from './neutralise.ts'

/** A question ready for a pool. */
export interface GuardedQuestion {
  readonly input: RenderedInput[AskName]
  /** Of the question before fencing, hex: equal questions have equal keys. */
  readonly key: string
  /** The author's constant beginning; '' where there is none. */
  readonly prefix: string
  /** SHA-256 of the literals, hex. */
  readonly template: string
  /** True where a plain string came in: nothing in it could be fenced. */
  readonly unguarded: boolean
  /** The parts of the guard that had something to do. */
  readonly found: readonly string[]
}

type Text = Prompt | ChatPrompt | string

/** What rendering needs to know; `found` gathers the parts that had something to do. */
interface Rendering {
  readonly ask: AskName
  readonly secret: string
  readonly guard: GuardConfig
  readonly found: Set<string>
}

/** Renders one question. `identity` names what else the answer depends on (the function's version). */
export function guardQuestion(
  ask: AskName,
  question: Asks[AskName]['input'],
  secret: string,
  identity: string,
  guard: GuardConfig = fullGuard,
): GuardedQuestion {
  const rendering = { ask, secret, guard, found: new Set<string>() }
  if (ask === 'embed') {
    const input = question as readonly string[]
    return { input, key: keyOf(identity, ask, input), prefix: '', template: '', unguarded: false, found: [] }
  }
  if (ask === 'choose') {
    const choice = question as Asks['choose']['input']
    const { input, ...rest } = guardText(choice.question, rendering, identity, choice.labels)
    return { ...rest, input: { question: input, labels: choice.labels } }
  }
  return guardText(question as Text, rendering, identity, [])
}

function guardText(text: Text, rendering: Rendering, identity: string, labels: readonly string[]) {
  const input = rendered(text, rendering)
  const pieces =
    typeof text === 'string' || text.kind === 'prompt'
      ? piecesOf(text)
      : text.messages.flatMap(({ role, content }) => [`turn ${role}`, ...piecesOf(content)])
  const literals = typeof text === 'string' ? [] : promptsOf(text).map(literalsOf)
  return {
    input,
    key: keyOf(identity, rendering.ask, [...labels, ...pieces]),
    prefix: literals[0]?.[0] ?? '',
    template: typeof text === 'string' ? '' : templateHash(literals),
    unguarded: typeof text === 'string',
    found: [...rendering.found],
  }
}

const promptsOf = (text: Prompt | ChatPrompt): readonly (Prompt | string)[] =>
  text.kind === 'prompt' ? [text] : text.messages.map(({ content }) => content)

const literalsOf = (content: Prompt | string): readonly string[] =>
  typeof content === 'string' ? [content] : content.literals

/** With its kind and its count before it, so that no two texts have the same pieces. */
const piecesOf = (content: Prompt | string): readonly string[] =>
  typeof content === 'string'
    ? ['text', content]
    : [`prompt ${content.values.length}`, ...content.literals, ...content.values]

function rendered(text: Text, rendering: Rendering): Rendered {
  if (typeof text === 'string') return text
  // A single prompt is a user's turn: the judge's own chat template is applied by its server.
  if (text.kind === 'prompt') return [{ role: 'user', content: filled(text, rendering) }]
  return text.messages.map(({ role, content }) => ({
    role,
    content: typeof content === 'string' ? content : filled(content, rendering),
  }))
}

/**
 * A prompt with its values in their places. A scalar or process model reads a bare conversation, as it was trained to:
 * what ends a turn or a step there is a token, not a fence, and it writes no verdict.
 */
function filled({ literals, values }: Prompt, { ask, secret, guard, found }: Rendering): string {
  const isRead = ask === 'generate' || ask === 'choose'
  const parts = isRead ? guard : { ...guard, verdicts: false }
  let text = literals[0] ?? ''
  for (const [index, raw] of values.entries()) {
    const value = neutralised(raw, parts, found)
    const isFenced = guard.fence && isRead
    if (isFenced) found.add('fence')
    text += (isFenced ? fence(value, secret) : value) + (literals[index + 1] ?? '')
  }
  return text
}

/** Lengths keep the pieces apart, so that no text can pass for two. */
function keyOf(identity: string, ask: AskName, pieces: readonly string[]): string {
  let text = `${identity}\n${ask}\n`
  for (const piece of pieces) text += `${piece.length}:${piece}`
  return hash('sha256', text)
}

const templates = new Map<string, string>()
const templatesKept = 256

/** Templates are few and long, questions many: their hashes are kept. */
function templateHash(literals: readonly (readonly string[])[]): string {
  const text = JSON.stringify(literals)
  const known = templates.get(text)
  if (known) return known
  const made = createHash('sha256').update(text).digest('hex')
  if (templates.size >= templatesKept) templates.clear()
  templates.set(text, made)
  return made
}

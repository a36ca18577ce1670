/**
 * The guard stands between what an author's rm_preprocess made and what a judge is sent: it renders prompts so that
 * nothing in a sample can change a question's structure, and gives the question its identity.
 */
import { hash } from 'node:crypto'
import type { AskName, Asks, ChatPrompt, Prompt } from '../../contract/index.ts'
import { fullGuard, type GuardConfig } from '../../models/guard-config.ts'
import { knownText } from '../../models/json-body.ts'
import type { Rendered, RenderedInput } from '../../models/models.ts'
import { type Piece, RenderedMessage } from '../../models/rendered-message.ts'
import { closing, opening, sealOf } from './fence.ts'
import { neutralised } from './neutralise.ts'
import { templateHash } from './template-hash.ts'

/** A question ready for a pool. */
export interface GuardedQuestion {
  readonly input: RenderedInput[AskName]
  /** Of the question before fencing: equal questions have equal keys. */
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
    const key = keyOf(identity, ask, [hash('sha256', JSON.stringify(input))])
    return { input, key, prefix: '', template: '', unguarded: false, found: [] }
  }
  if (ask === 'choose') {
    const choice = question as Asks['choose']['input']
    const { input, ...rest } = guardText(choice.question, rendering, identity, choice.labels)
    return { ...rest, input: { question: input, labels: choice.labels } }
  }
  return guardText(question as Text, rendering, identity, [])
}

function guardText(text: Text, rendering: Rendering, identity: string, labels: readonly string[]) {
  const isPlain = typeof text === 'string'
  const literals = isPlain ? [] : promptsOf(text).map(literalsOf)
  const template = isPlain ? '' : templateHash(literals)
  const pieces = [...labels, template]
  const input = rendered(text, rendering, pieces)
  return {
    input,
    key: keyOf(identity, rendering.ask, pieces),
    prefix: literals[0]?.[0] ?? '',
    template,
    unguarded: isPlain,
    found: [...rendering.found],
  }
}

const promptsOf = (text: Prompt | ChatPrompt): readonly (Prompt | string)[] =>
  text.kind === 'prompt' ? [text] : text.messages.map(({ content }) => content)

const literalsOf = (content: Prompt | string): readonly string[] =>
  typeof content === 'string' ? [content] : content.literals

/** Adds to `pieces` what the question is beside its literals: the turns' roles, and its values. */
function rendered(text: Text, rendering: Rendering, pieces: string[]): Rendered {
  if (typeof text === 'string') {
    pieces.push(hash('sha256', text))
    return text
  }
  // A single prompt is a user's turn: the judge's own chat template is applied by its server.
  if (text.kind === 'prompt') return [new RenderedMessage('user', filled(text, rendering, pieces))]
  return text.messages.map(({ role, content }) => {
    pieces.push(`turn ${role}`)
    return typeof content === 'string'
      ? { role, content }
      : new RenderedMessage(role, filled(content, rendering, pieces))
  })
}

/**
 * A prompt's texts with its values in their places. A scalar or process model reads a bare conversation, as it was trained
 * to: what ends a turn or a step there is a token, not a fence, and it writes no verdict.
 */
function filled(
  { literals, values }: Prompt,
  { ask, secret, guard, found }: Rendering,
  pieces: string[],
): readonly Piece[] {
  const isRead = ask === 'generate' || ask === 'choose'
  const isFenced = guard.fence && isRead
  if (isFenced && values.length > 0) found.add('fence')
  const parts = isRead ? guard : { ...guard, verdicts: false }
  const texts: Piece[] = [knownText(literals[0] ?? '')]
  for (const [index, raw] of values.entries()) {
    const { identity, nonce } = sealOf(raw, secret)
    pieces.push(identity)
    const value = neutralised(raw, parts, found)
    const literal = knownText(literals[index + 1] ?? '')
    if (isFenced) texts.push(opening(nonce), value, closing(nonce), literal)
    else texts.push(value, literal)
  }
  return texts
}

/** Lengths keep the pieces apart, so that no text can pass for two. */
function keyOf(identity: string, ask: AskName, pieces: readonly string[]): string {
  let key = `${identity}\n${ask}\n`
  for (const piece of pieces) key += `${piece.length}:${piece}`
  return key
}

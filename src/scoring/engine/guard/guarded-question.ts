/**
 * The guard sits between the author's rm_preprocess and the judge. It renders prompts so that nothing in a sample can
 * change a question's structure, and computes the question's identity.
 */

import { hash } from 'node:crypto'
import type { AskName, Asks, ChatPrompt, Prompt, ServiceRequest } from '../../../contract/index.ts'
import { asksNothing, isDecision, isService, questionImages } from '../../../contract/question.ts'
import { longHash } from '../../../core/hash.ts'
import { isWordless, type Message } from '../../../core/sample/sample.ts'
import type { Rendered, RenderedInput } from '../../models/interface/ask.ts'
import { fullGuard, type GuardConfig } from '../../models/interface/model-config.ts'
import {
  type KnownText,
  knownText,
  type LongText,
  type Piece,
  quoted,
  RenderedMessage,
} from '../../models/interface/question-json.ts'
import { renderedImage } from '../unseen-content.ts'
import { guardedWords } from './decision-texts.ts'
import { neutralised, neutralising } from './look-alikes.ts'
import { asksInOwnTexts, type OwnRows, ownTexts } from './row-texts.ts'

/** A question that can be sent to a pool. */
export interface GuardedQuestion {
  readonly input: RenderedInput[AskName]
  /** Computed before fencing: equal questions have equal keys. */
  readonly key: string
  /** The author's constant prefix; '' if there is none. */
  readonly prefix: string
  /** SHA-256 of the literals, in hex. */
  readonly template: string
  /** True if sample text is part of a plain string, where it cannot be fenced. */
  readonly unguarded: boolean
  /** How many numbers a process reward model must return; null: any. */
  readonly steps: number | null
  /** The parts of the guard that changed or reported something. */
  readonly found: readonly string[]
}

type Text = Prompt | ChatPrompt | string

/** A long value that was guarded before its question is rendered. */
export interface ReadyValue {
  readonly raw: string
  readonly seal: Seal
  readonly text: string
  /** The text with its JSON; null for a text of its own, which is no part of a message. */
  readonly piece: LongText | null
  readonly found: ReadonlySet<string>
}

/** Guards a value in slices: megabytes must not block the event loop. */
export function* readyValue(
  raw: string,
  ask: AskName,
  secret: string,
  guard: GuardConfig,
): Generator<void, ReadyValue> {
  yield
  const found = new Set<string>()
  const seal = yield* sealing(raw, secret)
  yield
  const text = yield* neutralising(raw, partsFor(ask, guard), found)
  return { raw, seal, text, piece: ask === 'embed' ? null : yield* quoted(text), found }
}

/** A model that does not write verdicts needs no verdicts broken. */
const partsFor = (ask: AskName, guard: GuardConfig): GuardConfig =>
  isRead(ask) ? guard : { ...guard, verdicts: false }

const isRead = (ask: AskName): boolean => ask === 'generate' || ask === 'choose' || ask === 'decide'

/** The rendering state; `found` collects the parts of the guard that applied. */
interface Rendering {
  readonly ask: AskName
  readonly secret: string
  readonly guard: GuardConfig
  readonly found: Set<string>
  readonly ready: readonly ReadyValue[]
  /** Whose images the question may show. */
  readonly rows: OwnRows
}

/**
 * Renders one question. `identity` covers what else the answer depends on (the function's version); `ready` holds
 * values that were guarded ahead.
 */
export function guardQuestion(
  ask: AskName,
  question: Asks[AskName]['input'],
  secret: string,
  identity: string,
  guard: GuardConfig = fullGuard,
  rows: OwnRows = [],
  ready: readonly ReadyValue[] = [],
): GuardedQuestion {
  if (isService(question)) return serviceQuestion(question, identity)
  const rendering = { ask, secret, guard, found: new Set<string>(), ready, rows }
  if (isDecision(question)) {
    const { about, question: words, as, rowTexts } = question
    const asked = rowTexts
      ? guardedWords({ question: words, as }, partsFor(ask, guard), rendering.found)
      : { question: words, as }
    const { input, ...rest } = guardText(about, rendering, identity, [JSON.stringify(asked)], rows)
    return {
      ...rest,
      input: { about: input as readonly Message[], asked },
      unguarded: rowTexts === undefined && asksInOwnTexts(question, rows),
    }
  }
  if (ask === 'embed') {
    const texts = question as readonly string[]
    const key = keyOf(identity, ask, [hash('sha256', JSON.stringify(texts))])
    if (texts.some(isWordless)) rendering.found.add('empty')
    const parts = partsFor(ask, guard)
    const input = texts.map(
      (text) => made(text, rendering)?.text ?? neutralised(text, parts, rendering.found),
    )
    return {
      input,
      key,
      prefix: '',
      template: '',
      unguarded: false,
      steps: null,
      found: [...rendering.found],
    }
  }
  if (ask === 'choose') {
    const choice = question as Asks['choose']['input']
    const { input, ...rest } = guardText(choice.question, rendering, identity, choice.labels, rows)
    return { ...rest, input: { question: input, labels: choice.labels } }
  }
  return guardText(question as Text, rendering, identity, [], rows)
}

/** A service parses JSON and reads no instructions: its values are sent as they are. */
const serviceQuestion = (question: ServiceRequest, identity: string): GuardedQuestion => ({
  input: question,
  key: keyOf(identity, 'service', [hash('sha256', question.json)]),
  prefix: '',
  template: '',
  unguarded: false,
  steps: null,
  found: [],
})

function guardText(
  given: Text,
  rendering: Rendering,
  identity: string,
  labels: readonly string[],
  rows: OwnRows,
) {
  const { text, unguarded } = ownTexts(given, rows)
  // A plain string does not show its values, so check the row for content instead.
  if (unguarded && rows.some(asksNothing)) rendering.found.add('empty')
  const isPlain = typeof text === 'string'
  const literals = isPlain ? [] : promptsOf(text).map(literalsOf)
  const template = isPlain ? '' : templateHash(literals)
  const pieces = [...labels, template]
  const input = rendered(text, rendering, pieces)
  return {
    input,
    key: keyOf(identity, rendering.ask, pieces),
    prefix: prefixOf(literals[0]?.[0] ?? '', text),
    template,
    unguarded,
    steps: isPlain ? null : stepsOf(text),
    found: [...rendering.found],
  }
}

/** Servers keep images beside prefixes: questions about one image go to one server. */
function prefixOf(literal: string, text: Text): string {
  const images = questionImages(text)
  return images.length === 0 ? literal : [literal, ...images].join('\n')
}

/** The total number of steps in a question; null if it declares none. */
function stepsOf(text: Prompt | ChatPrompt): number | null {
  let all: number | null = null
  for (const content of promptsOf(text))
    if (typeof content !== 'string' && content.steps !== undefined) all = (all ?? 0) + content.steps
  return all
}

const promptsOf = (text: Prompt | ChatPrompt): readonly (Prompt | string)[] =>
  text.kind === 'prompt' ? [text] : text.messages.map(({ content }) => content)

const literalsOf = (content: Prompt | string): readonly string[] =>
  typeof content === 'string' ? [content] : content.literals

/** Adds the turns' roles and the values to `pieces`, which already hold the literals. */
function rendered(text: Text, rendering: Rendering, pieces: string[]): Rendered {
  if (typeof text === 'string') {
    pieces.push(hash('sha256', text))
    return text
  }
  // A single prompt is a user turn: the server applies the judge's own chat template.
  if (text.kind === 'prompt')
    return [new RenderedMessage('user', filled(text, rendering, pieces), text.images !== undefined)]
  return text.messages.map(({ role, content }) => {
    pieces.push(`turn ${role}`)
    return typeof content === 'string'
      ? { role, content }
      : new RenderedMessage(role, filled(content, rendering, pieces), content.images !== undefined)
  })
}

/**
 * A prompt's literals with its values filled in. Scalar and process models get the bare conversation that they were
 * trained on: their structure is tokens, not fences, and they write no verdicts. So do safety models, whose functions say
 * `fence: false`.
 */
function filled(
  { literals, values, mayBeEmpty, images, fence }: Prompt,
  rendering: Rendering,
  pieces: string[],
): readonly Piece[] {
  const { ask, secret, guard, found } = rendering
  const isFenced = guard.fence && fence !== false && isRead(ask)
  if (isFenced && values.length > 0) found.add('fence')
  const parts = partsFor(ask, guard)
  const texts: Piece[] = [knownText(literals[0] ?? '')]
  const allowed = mayBeEmpty && new Set(mayBeEmpty)
  let open = ''
  for (const [index, raw] of values.entries()) {
    const image = images?.find(({ at }) => at === index)
    if (image) {
      const piece = { text: '', image: renderedImage(image.sha256, rendering.rows) } as const
      pieces.push(`image ${image.sha256} ${piece.image.detail ?? ''}`)
      if (open !== '') texts.push(neutralised(open, parts, found))
      open = ''
      texts.push(piece, knownText(literals[index + 1] ?? ''))
      continue
    }
    const known = made(raw, rendering)
    const { identity, nonce } = known?.seal ?? sealOf(raw, secret, isFenced)
    pieces.push(identity)
    if (isWordless(raw) && !allowed?.has(index)) found.add('empty')
    const literal = literals[index + 1] ?? ''
    // Without a fence, adjacent values are one text: a token could span their boundary.
    open += raw
    if (!isFenced && literal === '' && index + 1 < values.length) continue
    const value: Piece =
      open === raw
        ? (known?.piece ?? known?.text ?? neutralised(raw, parts, found))
        : neutralised(open, parts, found)
    open = ''
    if (isFenced) texts.push(opening(nonce), value, closing(nonce), knownText(literal))
    else texts.push(value, knownText(literal))
  }
  return texts
}

/** A value that was guarded ahead; also adds what was found in it. */
function made(raw: string, { ready, found }: Rendering): ReadyValue | undefined {
  const known = ready.find((one) => one.raw === raw)
  if (known) for (const part of known.found) found.add(part)
  return known
}

/** Length prefixes keep the pieces apart, so that one text can never equal two. */
function keyOf(identity: string, ask: AskName, pieces: readonly string[]): string {
  let key = `${identity}\n${ask}\n`
  for (const piece of pieces) key += `${piece.length}:${piece}`
  return key
}

/** Identifies a value and builds its fence. */
interface Seal {
  /** Represents the value in the question's identity; unique per value. */
  readonly identity: string
  /** 48 bits, in hex, that the value's author cannot know. */
  readonly nonce: string
}

/** A short value identifies itself, and only a fence needs its hash. */
const shortLength = 64
const nonceLength = 12

/**
 * Identity and nonce come from one SHA-256 of the value, keyed by the secret, and share no bit. The nonce depends only
 * on the value, so equal questions stay equal and the text before a value stays cacheable.
 */
export const sealOf = (value: string, secret: string, isFenced = true): Seal =>
  sealBy(value, isFenced || value.length > shortLength ? hash('sha256', `${secret}\n${value}`) : '')

/** The same seal, computed in slices for values of any length. */
export function* sealing(value: string, secret: string): Generator<void, Seal> {
  return sealBy(value, yield* longHash(`${secret}\n`, value, 'utf8'))
}

const sealBy = (value: string, digest: string): Seal => ({
  identity: value.length <= shortLength ? `=${value}` : `#${digest.slice(nonceLength)}`,
  nonce: digest.slice(0, nonceLength),
})

/** The text before a fenced value. The brackets are escaped in JSON: one wide character would double a text's bytes. */
export const opening = (nonce: string): KnownText => ({
  text: `⟦${nonce}\n`,
  json: `\\u27e6${nonce}\\n`,
})

/** The text after a fenced value. */
export const closing = (nonce: string): KnownText => ({
  text: `\n${nonce}⟧`,
  json: `\\n${nonce}\\u27e7`,
})

/** A node of the trie of known literals. */
interface Beginning {
  readonly next: Map<string, Beginning>
  hash: string
}

const none = (): Beginning => ({ next: new Map(), hash: '' })

let beginnings = none()
let kept = 0
const mostKept = 1024
/**
 * Templates with more characters are not kept: they probably contain a sample's text, inserted without the template
 * tag.
 */
const longest = 8192

/**
 * SHA-256 of a question's literals, one list per message, in hex. Templates are few and questions many, so the hash is
 * looked up literal by literal. V8 keeps each literal's own hash, so no joined text is built. With the bound in engine/admission.ts it saves
 * 12 % of a judged sample that comes alone (`npm run against`).
 */
function templateHash(literals: readonly (readonly string[])[]): string {
  let at = beginnings
  let length = 0
  for (const list of literals) {
    at = after(at, String(list.length))
    for (const literal of list) {
      length += literal.length
      if (length > longest) return hashOf(literals)
      at = after(at, literal)
    }
  }
  if (at.hash === '') at.hash = hashOf(literals)
  return at.hash
}

function after(at: Beginning, literal: string): Beginning {
  const known = at.next.get(literal)
  if (known) return known
  if (kept >= mostKept) {
    beginnings = none()
    kept = 0
  }
  const made = none()
  kept += 1
  at.next.set(literal, made)
  return made
}

const hashOf = (literals: readonly (readonly string[])[]): string => hash('sha256', JSON.stringify(literals))

import { hash } from 'node:crypto'
import type { AskName, Asks, ChatPrompt, Prompt } from '../../../contract/index.ts'
import { asksNothing } from '../../../contract/question-faults.ts'
import { isWordless } from '../../../core/sample/blank.ts'
import type { CallRow } from '../../functions/function-host.ts'
import type { Rendered, RenderedInput } from '../../models/api/ask.ts'
import { fullGuard, type GuardConfig } from '../../models/api/model-config.ts'
import { type KnownText, knownText, type Piece, RenderedMessage } from '../../models/api/question-json.ts'
import { longHash } from '../long-hash.ts'
import { holds } from './answers.ts'
import { neutralised, neutralising } from './look-alikes.ts'

/**
 * The guard stands between what an author's rm_preprocess made and what a judge is sent: it renders prompts so that
 * nothing in a sample can change a question's structure, and gives the question its identity.
 */

/** A question ready for a pool. */
export interface GuardedQuestion {
  readonly input: RenderedInput[AskName]
  /** Of the question before fencing: equal questions have equal keys. */
  readonly key: string
  /** The author's constant beginning; '' where there is none. */
  readonly prefix: string
  /** SHA-256 of the literals, hex. */
  readonly template: string
  /** True where text of the sample stands in a plain string: nothing in it could be fenced. */
  readonly unguarded: boolean
  /** How many numbers a process reward model has to answer with; null: any. */
  readonly steps: number | null
  /** The parts of the guard that had something to do. */
  readonly found: readonly string[]
}

type Text = Prompt | ChatPrompt | string

/** A long value as the guard leaves it, made ahead of its question. */
export interface ReadyValue {
  readonly raw: string
  readonly seal: Seal
  readonly text: string
  readonly found: ReadonlySet<string>
}

/** Makes a value ready piece by piece: a question of megabytes must not hold the event loop. */
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
  return { raw, seal, text, found }
}

/** A judge that writes no verdict reads none. */
const partsFor = (ask: AskName, guard: GuardConfig): GuardConfig =>
  isRead(ask) ? guard : { ...guard, verdicts: false }

const isRead = (ask: AskName): boolean => ask === 'generate' || ask === 'choose'

/** What rendering needs to know; `found` gathers the parts that had something to do. */
interface Rendering {
  readonly ask: AskName
  readonly secret: string
  readonly guard: GuardConfig
  readonly found: Set<string>
  readonly ready: readonly ReadyValue[]
}

/** Renders one question. `identity` names what else the answer depends on (the function's version), `ready` what is made already. */
export function guardQuestion(
  ask: AskName,
  question: Asks[AskName]['input'],
  secret: string,
  identity: string,
  guard: GuardConfig = fullGuard,
  rows: OwnRows = [],
  ready: readonly ReadyValue[] = [],
): GuardedQuestion {
  const rendering = { ask, secret, guard, found: new Set<string>(), ready }
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

function guardText(
  given: Text,
  rendering: Rendering,
  identity: string,
  labels: readonly string[],
  rows: OwnRows,
) {
  const { text, unguarded } = ownTexts(given, rows)
  // What a plain string was made of cannot be seen: the row has to say that there is a question in it.
  if (unguarded && rows.some(asksNothing)) rendering.found.add('empty')
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
    unguarded,
    steps: isPlain ? null : stepsOf(text),
    found: [...rendering.found],
  }
}

/** All steps of a question; null where it declares none. */
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
  { literals, values, mayBeEmpty }: Prompt,
  rendering: Rendering,
  pieces: string[],
): readonly Piece[] {
  const { ask, secret, guard, found } = rendering
  const isFenced = guard.fence && isRead(ask)
  if (isFenced && values.length > 0) found.add('fence')
  const parts = partsFor(ask, guard)
  const texts: Piece[] = [knownText(literals[0] ?? '')]
  let open = ''
  for (const [index, raw] of values.entries()) {
    const known = made(raw, rendering)
    const { identity, nonce } = known?.seal ?? sealOf(raw, secret)
    pieces.push(identity)
    if (isWordless(raw) && !mayBeEmpty?.includes(index)) found.add('empty')
    const literal = literals[index + 1] ?? ''
    // Without a fence, values that touch are one text: the end of one and the next one's beginning can be a token.
    open += raw
    if (!isFenced && literal === '' && index + 1 < values.length) continue
    const value =
      open === raw ? (known?.text ?? neutralised(raw, parts, found)) : neutralised(open, parts, found)
    open = ''
    if (isFenced) texts.push(opening(nonce), value, closing(nonce), knownText(literal))
    else texts.push(value, knownText(literal))
  }
  return texts
}

/** A value that was made ahead, and what was found in it. */
function made(raw: string, { ready, found }: Rendering): ReadyValue | undefined {
  const known = ready.find((one) => one.raw === raw)
  if (known) for (const part of known.found) found.add(part)
  return known
}

/** Lengths keep the pieces apart, so that no text can pass for two. */
function keyOf(identity: string, ask: AskName, pieces: readonly string[]): string {
  let key = `${identity}\n${ask}\n`
  for (const piece of pieces) key += `${piece.length}:${piece}`
  return key
}

type Question = Asks[AskName]['input']

/** The rows that a question is about. */
type OwnRows = readonly Pick<CallRow, 'sample' | 'earlier'>[]

/** A question, and whether text of its rows stands in a plain string of it. */
interface Told {
  readonly text: Prompt | ChatPrompt | string
  readonly unguarded: boolean
}

/** A whole question whose plain strings that are texts of the rows have become values. */
export function withOwnTexts(question: Question, rows: OwnRows): Question {
  if (typeof question === 'object' && !('kind' in question))
    return 'question' in question
      ? { ...question, question: ownTexts(question.question, rows).text }
      : question
  return ownTexts(question, rows).text
}

/**
 * A conversation may have plain strings, the author's own. One that is a text of the rows as it stands (`content:
 * sample.response`) becomes a value; one that only contains such a text cannot be guarded and is reported.
 */
function ownTexts(text: Told['text'], rows: OwnRows): Told {
  if (typeof text === 'string') return { text, unguarded: true }
  if (text.kind === 'prompt' || text.messages.every(({ content }) => typeof content !== 'string'))
    return { text, unguarded: false }
  const texts = rows.flatMap(textsOf).filter((one) => one.trim() !== '')
  let unguarded = false
  const messages = text.messages.map(({ role, content }) => {
    if (typeof content !== 'string') return { role, content }
    if (texts.includes(content)) return { role, content: asValue(content) }
    unguarded ||= texts.some((one) => standsIn(content, one))
    return { role, content }
  })
  return { text: { kind: 'chat', messages }, unguarded }
}

const asValue = (content: string): Prompt => ({ kind: 'prompt', literals: ['', ''], values: [content] })

/** What the policy wrote, or may have: its response, the prompt's turns, what judges said of it. */
function textsOf({ sample: { response, prompt }, earlier }: OwnRows[number]): readonly string[] {
  return [
    response,
    ...(typeof prompt === 'string' ? [prompt] : prompt.map(({ content }) => content)),
    ...Object.values(earlier).flatMap(({ texts }) => texts),
  ]
}

/** Shorter texts stand in many strings by chance: they count where there is something in them to guard. */
const shortest = 8

function standsIn(content: string, text: string): boolean {
  const own = text.trim()
  if (own.length < shortest && neutralised(own, fullGuard, new Set()) === own) return false
  const written = content.trim()
  if (holds(content, own)) return true
  // Out of JSON, its escapes are gone.
  return (
    written.length >= shortest && (holds(own, written) || holds(own, JSON.stringify(written).slice(1, -1)))
  )
}

/** What a question's value is known by, and what its fence is made of. */
interface Seal {
  /** Stands for the value in the identity of its question; no two values have the same. */
  readonly identity: string
  /** 48 bits that the value's author cannot know. */
  readonly nonce: string
}

/** Longer values are known by their hash. */
const shortLength = 64
const nonceLength = 12

/**
 * One SHA-256 of a value, keyed by the secret, serves both. The nonce depends only on the value, so equal questions stay
 * equal and what stands before a value stays cacheable; the identity shares no bit with it.
 */
export const sealOf = (value: string, secret: string): Seal =>
  sealBy(value, hash('sha256', `${secret}\n${value}`))

/** The same seal, of a value of any length, in pieces. */
export function* sealing(value: string, secret: string): Generator<void, Seal> {
  return sealBy(value, yield* longHash(`${secret}\n`, value, 'utf8'))
}

const sealBy = (value: string, digest: string): Seal => ({
  identity: value.length <= shortLength ? `=${value}` : `#${digest.slice(nonceLength)}`,
  nonce: digest.slice(0, nonceLength),
})

/** What stands before a fenced value. The brackets are escapes in JSON: one wide character doubles a text's bytes. */
export const opening = (nonce: string): KnownText => ({
  text: `⟦${nonce}\n`,
  json: `\\u27e6${nonce}\\n`,
})

/** What stands after it. */
export const closing = (nonce: string): KnownText => ({
  text: `\n${nonce}⟧`,
  json: `\\n${nonce}\\u27e7`,
})

/** What is known of the literals that begin so. */
interface Beginning {
  readonly next: Map<string, Beginning>
  hash: string
}

const none = (): Beginning => ({ next: new Map(), hash: '' })

let beginnings = none()
let kept = 0
const mostKept = 1024
/** Characters of what is kept: author's own text, not a sample's that was put in without the template tag. */
const longest = 8192

/**
 * SHA-256 of a question's literals, one list a message, hex. Templates are few and questions many: each is known by its
 * literals, whose own hashes the engine keeps, without a text of all of them.
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

/** What a sample's prompt asks, in the forms that judges and reward models need, and what is wrong with a question made of it. */

import { holdsImage } from '../core/sample/image.ts'
import { isWordless, type Json, type Message, type Sample, type ToolCall } from '../core/sample/sample.ts'
import type { AskName, Asks, ServiceRequest } from './asks.ts'
import { type Decision, decisionTexts } from './decision.ts'
import {
  BadSample,
  type ChatPrompt,
  emptyPlaces,
  optional,
  type Prompt,
  prompt,
  QuestionError,
} from './prompt.ts'
import type { Row } from './row.ts'
import { shownTurn } from './shown-turn.ts'

/**
 * The content of the last user message, or of the last message if no user spoke. '' if there is none.
 *
 * @example
 * ```ts
 * import { lastUserText } from 'reward-gateway/contract'
 *
 * lastUserText({ prompt: [{ role: 'user', content: '2 + 2?' }] }) // '2 + 2?'
 * ```
 */
export function lastUserText({ prompt }: Pick<Sample, 'prompt'>): string {
  return typeof prompt === 'string' ? prompt : (lastUserTurn(prompt)?.content ?? '')
}

const lastUserTurn = (prompt: readonly Message[]): Message | undefined =>
  prompt.findLast(({ role }) => role === 'user') ?? prompt.at(-1)

/**
 * The question for a judge: the row's `rm_prompt`, or else the last user message. Throws BadSample if both
 * are empty, because a verdict about nothing is meaningless.
 *
 * @example
 * ```ts
 * import { questionText } from 'reward-gateway/contract'
 *
 * questionText({ prompt: '2 + 2?' }) // '2 + 2?'
 * ```
 */
export function questionText(sample: Pick<Sample, 'prompt' | 'rmPrompt'>): string {
  const text = [sample.rmPrompt ?? '', lastUserText(sample)].find((one) => !isWordless(one))
  if (text === undefined) throw new BadSample(noQuestion)
  return text
}

/**
 * The question for a judge that sees images: as `questionText` gives it, with the images of the last user message
 * before it or between its texts. Put it into prompt`...`. Throws BadSample if there is neither text nor image.
 *
 * @example
 * ```ts
 * import { prompt, questionWithImages, type Sample } from 'reward-gateway/contract'
 *
 * const question = (sample: Sample) =>
 *   prompt`Problem: ${questionWithImages(sample)}\nAnswer: ${sample.response}\nReply 1 if it is right, else 0.`
 * ```
 */
export function questionWithImages(sample: Pick<Sample, 'prompt' | 'rmPrompt'>): string | readonly Message[] {
  const { prompt: given, rmPrompt = '' } = sample
  const last = typeof given === 'string' ? undefined : lastUserTurn(given)
  if (!last?.parts || !holdsImage(last)) return questionText(sample)
  if (isWordless(rmPrompt)) return [{ role: 'user', content: last.content, parts: last.parts }]
  const images = last.parts.filter(({ type }) => type === 'image')
  return [{ role: 'user', content: rmPrompt, parts: [...images, { type: 'text', text: rmPrompt }] }]
}

/** The message for a row without a question. */
const noQuestion =
  'prompt: it has no text and the row has no rm_prompt, so there is no question for a judge; send the prompt or rm_prompt (docs/trainers.md lists the trainers that send none)'

/** Chat templates insert roles between control tokens without escaping. */
export const isRole = (role: string): boolean => /^[a-z][\w-]{0,63}$/i.test(role)

/**
 * The prompt's turns for a scalar or process reward model, each content as a guarded value with its images. A
 * text is one user turn. Throws BadSample if the prompt has neither text nor image, and for calls of tools: the
 * conversation would lack them. `toolCalls: 'hermes'` writes them into the text as the chat templates of Qwen and Hermes
 * do, for models that were trained on it.
 *
 * @example
 * ```ts
 * import { chat, conversation, prompt, type Sample } from 'reward-gateway/contract'
 *
 * const asked = (sample: Sample) =>
 *   chat(...conversation(sample), { role: 'assistant', content: prompt`${sample.response}` })
 * ```
 */
export function conversation(
  { prompt: given }: Pick<Sample, 'prompt'>,
  { toolCalls = 'fail' }: { readonly toolCalls?: 'fail' | 'hermes' } = {},
): ChatPrompt['messages'] {
  const turns: readonly Message[] = typeof given === 'string' ? [{ role: 'user', content: given }] : given
  const calling = toolCalls === 'fail' ? turns.findIndex((turn) => turn.toolCalls !== undefined) : -1
  if (calling >= 0) throw new BadSample(`prompt.${calling}: ${lostCalls}`)
  if (turns.every((turn) => isWordless(turn.content) && !holdsImage(turn))) throw new BadSample(noQuestion)
  if (!turns.every(({ role }) => isRole(role)))
    throw new BadSample('prompt: the role of a message must be a word such as user or assistant')
  return turns.map((turn) => ({ role: turn.role, content: contentOf(turn) }))
}

const lostCalls =
  "it calls a tool, which a scalar model would not see; if the model was trained on <tool_call> JSON, write tool_calls: hermes into the step's options (toolCalls: 'hermes' for conversation(...))"

/** `content`, then each call on lines of its own. The tags are the author's, what stands between them is guarded. */
function withCalls(content: string, calls: readonly ToolCall[]): Prompt {
  const values = [content, ...calls.map(hermesJson)]
  const literals = values.map((_value, at) => {
    const end = at === 0 ? '' : '\n</tool_call>'
    const isFirst = at === 0 && isWordless(content)
    return at === calls.length ? end : `${end}${isFirst ? '' : '\n'}<tool_call>\n`
  })
  return { kind: 'prompt', literals: ['', ...literals], values, mayBeEmpty: [0] }
}

const hermesJson = ({ name, arguments: given }: ToolCall): string =>
  `{"name": ${JSON.stringify(name)}, "arguments": ${typeof given === 'string' ? given : spacedJson(given)}}`

/** JSON with the spaces that Python writes, as the templates' `tojson` does. */
function spacedJson(value: Json): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(spacedJson).join(', ')}]`
  return `{${Object.entries(value)
    .map(([key, item]) => `${JSON.stringify(key)}: ${spacedJson(item)}`)
    .join(', ')}}`
}

function contentOf(turn: Message): Prompt {
  const { role, content, parts, toolCalls } = turn
  if (toolCalls) {
    if (holdsImage(turn)) throw new BadSample('prompt: a turn that calls a tool holds an image')
    return withCalls(content, toolCalls)
  }
  if (parts && holdsImage(turn)) return prompt`${[{ role, content, parts }]}`
  return isWordless(content) ? prompt`${optional(content)}` : prompt`${content}`
}

/** A copy of the messages that throws on conversion to text instead of giving `[object Object]`. `what` names it. */
export function messagesWithoutText(messages: readonly Message[], what: string): readonly Message[] {
  const refuse = (): never => {
    const other = what === 'sample.prompt' ? ', or use lastUserText(sample)' : ''
    throw new QuestionError(
      `${what} is a list of messages, not a text: put it into prompt\`...\` as it is${other}`,
      refuse,
    )
  }
  return Object.defineProperty([...messages], Symbol.toPrimitive, { value: refuse })
}

/**
 * A word that no author writes. If it appears in trusted text from rm_preprocess, the response could pose as
 * instructions.
 */
export const marker = 'marker7f3a9c'

/**
 * Adds the marker to every text of a JSON response, so that a function that reads any of them meets it.
 * Otherwise appends it.
 */
export function withMarker(response: string): string {
  try {
    const value: unknown = JSON.parse(response)
    if (typeof value === 'object' && value !== null) return JSON.stringify(markedJson(value as Json))
  } catch {
    // Not JSON: plain text.
  }
  return `${response} ${marker}`
}

function markedJson(value: Json): Json {
  if (typeof value === 'string') return value === '' ? value : `${value} ${marker}`
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(markedJson)
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, markedJson(inner)]))
}

/** A question's texts, split into the author's own and those from a sample. */
interface QuestionTexts {
  readonly trusted: readonly string[]
  readonly untrusted: readonly string[]
}

/** Texts to embed and texts of a request to a service count as untrusted. */
export function questionTexts(question: Asks[AskName]['input']): QuestionTexts {
  if (typeof question === 'string') return { trusted: [question], untrusted: [] }
  if (isService(question)) return { trusted: [], untrusted: textsIn(JSON.parse(question.json) as Json) }
  if (isDecision(question)) {
    const { trusted, untrusted } = questionTexts(question.about)
    return { trusted: [...trusted, ...decisionTexts(question)], untrusted }
  }
  if (!('kind' in question)) {
    if (!('question' in question)) return { trusted: [], untrusted: question }
    return questionTexts(question.question)
  }
  const parts = question.kind === 'prompt' ? [question] : contentsOf(question)
  return {
    trusted: parts.flatMap((part) => (typeof part === 'string' ? [part] : part.literals)),
    untrusted: parts.flatMap((part) => (typeof part === 'string' ? [] : part.values)),
  }
}

const textsIn = (value: Json): readonly string[] => {
  if (typeof value === 'string') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : []
}

/** Whether a question is a request to a service. */
export const isService = (question: Asks[AskName]['input']): question is ServiceRequest =>
  typeof question === 'object' && 'kind' in question && question.kind === 'service'

/** Whether a question is one for a decision model. */
export const isDecision = (question: Asks[AskName]['input']): question is Decision =>
  typeof question === 'object' && 'about' in question

/** The hashes of the images that a question shows, in order. */
export function questionImages(question: Asks[AskName]['input']): readonly string[] {
  if (typeof question === 'string' || isService(question)) return noImages
  if (isDecision(question)) return questionImages(question.about)
  if (!('kind' in question)) return 'question' in question ? questionImages(question.question) : noImages
  if (question.kind === 'prompt') return question.images?.map(({ sha256 }) => sha256) ?? noImages
  let found = noImages
  for (const { content } of question.messages)
    if (typeof content !== 'string' && content.images) found = [...found, ...questionImages(content)]
  return found
}

const noImages: readonly string[] = Object.freeze([])

const contentsOf = ({ messages }: ChatPrompt): readonly (Prompt | string)[] =>
  messages.map(({ content }) => content)

type Question = Exclude<Asks[AskName]['input'], ServiceRequest | Decision>
type Rows = readonly Pick<Row, 'sample' | 'earlier'>[]

/**
 * A fault of a question, in words that quote none of it. `isOfRow`: the row lacks something; the author's
 * code is fine.
 */
interface QuestionFault {
  readonly detail: string
  readonly isOfRow: boolean
}

/** The first fault of a question about these rows, or null. */
export function questionFault(
  ask: AskName,
  question: Asks[AskName]['input'],
  rows: Rows,
): QuestionFault | null {
  // What a service may be sent is for its author to say.
  if (isService(question)) return null
  if (isDecision(question)) return questionFault(ask, question.about, rows)
  return (
    emptyIn(question, rows) ??
    objectIn(question, rows) ??
    (ask === 'rewards' ? lostMarks(question, rows) : null)
  )
}

/** Finds a question without text, or an empty value in a question about a row that asks nothing. */
function emptyIn(question: Question, rows: Rows): QuestionFault | null {
  if (!someText(question, (text) => !isWordless(text)) && questionImages(question).length === 0)
    return { detail: 'the question that rm_preprocess made has no text', isOfRow: true }
  if (isConstant(question))
    return { detail: holdsNothing, isOfRow: rows.some(({ sample }) => sample.rmPrompt !== undefined) }
  const empty = emptyValues(question)
  if (empty === 0) return null
  const { untrusted } = questionTexts(question)
  if (!rows.some((row) => asksNothing(row) && !asksByInfo(row, untrusted))) return null
  // An empty response is allowed: the judge decides what it earns.
  if (empty <= rows.filter(({ sample }) => isWordless(sample.response)).length) return null
  return { detail: `${noQuestion}. Wrap a value that may be empty in optional(...)`, isOfRow: true }
}

/** Whether both the row's prompt and its `rm_prompt` are empty. */
export const asksNothing = ({ sample: { prompt, rmPrompt = '' } }: Pick<Row, 'sample'>): boolean =>
  isWordless(rmPrompt) &&
  (typeof prompt === 'string'
    ? isWordless(prompt)
    : prompt.every((one) => isWordless(one.content) && !holdsImage(one)))

/** The message for a question without values. */
export const holdsNothing =
  "the question that rm_preprocess made contains nothing from the row: is a placeholder such as {response} missing from its template or from the row's rm_prompt?"

/**
 * Whether a question has no values, so that every row would get the same verdict. Plain strings cannot be
 * checked.
 */
function isConstant(question: Question): boolean {
  if (typeof question === 'string') return false
  if (!('kind' in question)) return 'question' in question && isConstant(question.question)
  if (question.kind === 'prompt') return question.values.length === 0
  return question.messages.every(({ content }) => typeof content !== 'string' && content.values.length === 0)
}

/**
 * Whether a value is a text from extra_info other than the truth. Some data sets keep their question there.
 */
function asksByInfo(
  { sample: { extraInfo, groundTruth } }: Rows[number],
  values: readonly string[],
): boolean {
  const info = JSON.stringify(extraInfo)
  return values.some(
    (value) => !isWordless(value) && value !== groundTruth && info.includes(JSON.stringify(value)),
  )
}

/** Counts the values that are empty but must not be. */
function emptyValues(question: Question): number {
  if (typeof question === 'string') return Number(isWordless(question))
  if (!('kind' in question))
    return 'question' in question ? emptyValues(question.question) : question.filter(isWordless).length
  if (question.kind === 'prompt') return emptyPlaces(question).length
  let empty = 0
  for (const { content } of question.messages)
    empty += typeof content === 'string' ? Number(isWordless(content)) : emptyPlaces(content).length
  return empty
}

/** Whether one of a question's texts passes the test. Runs on every question, so it allocates no lists. */
function someText(question: Question, isSuch: (text: string) => boolean): boolean {
  if (typeof question === 'string') return isSuch(question)
  if (!('kind' in question))
    return 'question' in question ? someText(question.question, isSuch) : question.some(isSuch)
  if (question.kind === 'prompt') return question.literals.some(isSuch) || question.values.some(isSuch)
  return question.messages.some(({ content }) => someText(content, isSuch))
}

const objectText = '[object Object]'

/** Finds `[object Object]`, unless the row itself holds it, as an answer about JavaScript may. */
function objectIn(question: Question, rows: Rows): QuestionFault | null {
  const has = (text: string): boolean => text.includes(objectText)
  if (!someText(question, has)) return null
  if (rows.some((row) => textsOf(row).some(has))) return null
  const detail =
    "the question that rm_preprocess made contains '[object Object]': pass a text instead of the object (a field, JSON.stringify, or lastUserText(sample) for a prompt of messages)"
  return { detail, isOfRow: false }
}

/** All texts of a row, and its other values as JSON. */
function textsOf({ sample, earlier }: Pick<Row, 'sample' | 'earlier'>): readonly string[] {
  return [...ownTexts(sample), ...Object.values(earlier).flatMap(({ texts }) => texts), rest(sample)]
}

const ownTexts = (sample: Sample): readonly string[] => [sample.rmPrompt ?? '', ...untrustedTexts(sample)]

/** All that the prompt, the policy, its tools and its environment said. */
export function untrustedTexts({ response, prompt, turns = [] }: Sample): readonly string[] {
  const texts = [response]
  if (typeof prompt === 'string') texts.push(prompt)
  else for (const { content } of prompt) texts.push(content)
  for (const turn of turns)
    for (const { content } of shownTurn(turn, { reasoning: true }))
      if (content !== response) texts.push(content)
  return texts
}

const rest = ({ groundTruth, extraInfo, rmPrompts }: Sample): string =>
  JSON.stringify([groundTruth, extraInfo, rmPrompts])

/** Step marks of Qwen's and Math-Shepherd's models. */
const stepMark = /<extra_\d{1,3}>|(?<![\p{L}\p{N}])ки(?![\p{L}\p{N}])/gu

/** Finds step marks that the author wrote inside a value, where the guard would break them. */
function lostMarks(question: Question, rows: Rows): QuestionFault | null {
  const marks = (texts: readonly string[]): number =>
    texts.reduce((sum, text) => sum + (text.match(stepMark)?.length ?? 0), 0)
  const { untrusted } = questionTexts(question)
  const found = marks(untrusted)
  if (found === 0 || found <= marks(rows.flatMap(textsOf))) return null
  const detail =
    'rm_preprocess put step marks into a value, where the guard breaks them: write steps(texts, mark), which keeps the marks outside of values'
  return { detail, isOfRow: false }
}

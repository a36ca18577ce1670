/**
 * What a step would not see of a sample. Nothing is scored that the reward did not see: a part that is no text fails the
 * step, whichever language its function is written in and however it made its question. A question that shows images shows
 * all that its rows have, and its model takes them.
 */
import type { AskName, Asks, ChatPrompt, Prompt, ServiceRequest } from '../../contract/index.ts'
import { isDecision, isService, questionImages, questionTexts } from '../../contract/question.ts'
import { bytesOfImage, imagesOf, type PlacedImage, tokensOfImage } from '../../core/sample/image.ts'
import {
  type Failure,
  type ImagePart,
  isBlank,
  isTextOnly,
  type Message,
  type Part,
  type Sample,
} from '../../core/sample/sample.ts'
import type { CallRow } from '../functions/function-host.ts'
import { defaultImages, type ImageConfig } from '../models/interface/model-config.ts'
import type { RenderedImage } from '../models/interface/question-json.ts'
import type { PlanStep } from '../plan/plan.ts'

type Step = Pick<PlanStep, 'ask' | 'ignore'>

/**
 * Why a step fails for a sample: it holds a part that the step neither sees nor ignores. null: there is none. Whether a
 * question shows the images is known when it is made: see `imageFailure`.
 */
export function unseenContent({ ask, ignore }: Step, sample: Sample): Failure | null {
  for (const placed of partsFor(ask, sample)) {
    const type = typeOf(placed.part)
    if (ignore.has(type) || (ask !== null && type === 'image')) continue
    const why =
      ask === null ? 'the rule reads only the text of the response' : 'a judge is shown only texts and images'
    return unseenPart(placed, why)
  }
  return null
}

/** The failure of a step that does not see a part. */
function unseenPart({ part, place }: PlacedPart, why: string): Failure {
  const type = typeOf(part)
  return {
    kind: 'unseen_content',
    retryable: false,
    detail: `${place} has a part of type ${type}, and ${why}; if the step does not need it, write ignore: [${type}]`,
  }
}

/** Whether the policy's last turn holds more than text, so that an empty text is no empty answer. */
export function answersInParts({ turns }: Sample): boolean {
  const last = turns?.findLast(({ role }) => role === 'assistant')
  return last?.parts?.some(({ type }) => type !== 'text') ?? false
}

/** Flags for the parts of a sample that a step ignores. */
export function ignoredFlags({ ask, ignore }: Step, sample: Sample): readonly string[] {
  if (ignore.size === 0 || isTextOnly(sample)) return []
  const found = new Set<string>()
  for (const { part } of partsFor(ask, sample)) {
    const type = typeOf(part)
    if (ignore.has(type)) found.add(`ignored:${type}`)
  }
  return [...found]
}

interface PlacedPart {
  readonly part: Part
  readonly place: string
}

/** A rule reads the response. What a judge is asked about may depend on all of the sample. */
function* partsFor(ask: AskName | null, { prompt, turns }: Sample): Generator<PlacedPart> {
  if (ask !== null && typeof prompt === 'object') yield* partsIn(prompt, 'prompt')
  if (!turns) return
  if (ask !== null) yield* partsIn(turns, 'response')
  else {
    const last = turns.findLastIndex(({ role }) => role === 'assistant')
    if (last >= 0) yield* partsIn([turns[last] as Message], 'response', last)
  }
}

function* partsIn(messages: readonly Message[], name: string, from = 0): Generator<PlacedPart> {
  for (const [at, { parts = [] }] of messages.entries())
    for (const part of parts) if (part.type !== 'text') yield { part, place: `${name}.${from + at}` }
}

const plainName = /^[a-z][\w.-]{0,59}$/i

/** The type that a step's `ignore` names. A failure quotes it, so it must be a plain word. */
function typeOf(part: Part): string {
  if (part.type !== 'other') return part.type
  return plainName.test(part.name) ? part.name : 'other'
}

/** Texts of a rollout that are looked for in its question. */
const mostLookedFor = 8
/** Searching for a longer text is not linear in the worst case. */
const probe = 64

/**
 * Whether a question leaves out turns of its rows, apart from the response: what tools answered, or what the policy did
 * before. Looks for the first few of them.
 */
export function leavesOutTurns(question: Asks[AskName]['input'], rows: readonly CallRow[]): boolean {
  if (rows.every(({ sample }) => sample.turns === undefined)) return false
  const isShown = isService(question) ? shownIn(question) : shownAmong(question)
  return rows.some(({ sample }) => !earlierTexts(sample).every(isShown))
}

function shownAmong(question: Asks[AskName]['input']): (text: string) => boolean {
  const { trusted, untrusted } = questionTexts(question)
  const texts = [...untrusted, ...trusted]
  return (text) => texts.some((one) => one.includes(text.slice(0, probe)))
}

/** A body may hold a text as JSON, and the arguments of a call as JSON in a text of JSON. */
const shownIn =
  ({ json }: ServiceRequest) =>
  (text: string): boolean => {
    const inText = JSON.stringify(text.slice(0, probe)).slice(1, -1)
    return json.includes(inText) || json.includes(JSON.stringify(inText).slice(1, -1))
  }

function earlierTexts({ turns = [] }: Sample): readonly string[] {
  const last = turns.findLastIndex(({ role }) => role === 'assistant')
  const texts: string[] = []
  for (const [at, { content, toolCalls = [] }] of turns.entries()) {
    if (at !== last && !isBlank(content)) texts.push(content)
    for (const { name, arguments: given } of toolCalls)
      texts.push(typeof given === 'string' ? given || name : JSON.stringify(given))
    if (texts.length >= mostLookedFor) break
  }
  return texts
}

type Question = Asks[AskName]['input']
type Rows = readonly Pick<CallRow, 'sample'>[]

/** What a step asks instead of its question: a step that ignores images is shown none. */
export function shownQuestion({ ignore }: Pick<PlanStep, 'ignore'>, question: Question): Question {
  return ignore.has('image') && questionImages(question).length > 0 ? withoutImages(question) : question
}

function withoutImages(question: Question): Question {
  if (typeof question === 'string' || isService(question)) return question
  if (isDecision(question)) return { ...question, about: promptWithoutImages(question.about) }
  if (!('kind' in question))
    return 'question' in question
      ? { ...question, question: withoutImages(question.question) as Prompt }
      : question
  if (question.kind === 'chat') {
    const messages = question.messages.map(({ role, content }) => ({
      role,
      content: typeof content === 'string' ? content : (withoutImages(content) as Prompt),
    }))
    return { kind: 'chat', messages } satisfies ChatPrompt
  }
  return promptWithoutImages(question)
}

/** Without the empty values whose places the images take. */
function promptWithoutImages(question: Prompt): Prompt {
  const { images = [], literals, values, mayBeEmpty = [], steps, fence } = question
  const taken = new Set(images.map(({ at }) => at))
  const kept: { literals: string[]; values: string[]; mayBeEmpty: number[] } = {
    literals: [literals[0] ?? ''],
    values: [],
    mayBeEmpty: [],
  }
  const optional = new Set(mayBeEmpty)
  for (const [at, value] of values.entries()) {
    const literal = literals[at + 1] ?? ''
    if (taken.has(at)) {
      kept.literals[kept.literals.length - 1] += literal
      continue
    }
    if (optional.has(at)) kept.mayBeEmpty.push(kept.values.length)
    kept.values.push(value)
    kept.literals.push(literal)
  }
  return { kind: 'prompt', ...kept, ...(steps !== undefined && { steps }), ...(fence === false && { fence }) }
}

/** Why a question cannot be asked because of the images of its rows; null: they have none, or it can. */
export function imageFailure(
  { ignore, images: limits }: Pick<PlanStep, 'ignore' | 'images'>,
  model: string,
  question: Question,
  rows: Rows,
): Failure | null {
  const asked = questionImages(question)
  const images = rows.flatMap(({ sample }) => imagesOf(sample))
  if (!ignore.has('image')) {
    const shown = new Set(asked)
    const unseen = images.find(({ part }) => !shown.has(part.sha256))
    if (unseen) return unseenPart(unseen, 'the question does not show it')
  }
  if (asked.length === 0) return null
  const limit = limits.get(model) ?? defaultImages
  const most = limit.max_per_sample * rows.length
  if (asked.length > most)
    return bad(
      `the question shows ${asked.length} images; the model '${model}' takes ${most} (images.max_per_sample)`,
    )
  for (const sha256 of new Set(asked)) {
    const known = found(images, sha256)
    if (!known) return foreign
    if (!bytesOfImage(known.part) && known.part.url === undefined) return unseenPart(known, notSent)
    const why = unfit(known, limit)
    if (why !== null) return bad(`${known.place} has an image ${why}`)
  }
  return null
}

const notSent = "its bytes were not sent: send a data URL, or one in the request's images"

const bad = (detail: string): Failure => ({ kind: 'bad_sample', retryable: false, detail })

const foreign: Failure = {
  kind: 'function_error',
  retryable: false,
  detail: 'the question that rm_preprocess made shows an image that its rows do not have',
}

/** Several parts may have one hash. One with bytes needs no address. */
function found(images: readonly PlacedImage[], sha256: string): PlacedImage | undefined {
  const own = images.filter(({ part }) => part.sha256 === sha256)
  return own.find(({ part }) => bytesOfImage(part)) ?? own.find(isAsked) ?? own[0]
}

/** Whether an image was in the question that the trainer asked. The policy, its tools and its environment wrote the rest. */
const isAsked = ({ place, message: { role } }: PlacedImage): boolean =>
  place.startsWith('prompt.') && askingRoles.includes(role)

const askingRoles: readonly string[] = ['system', 'developer', 'user']

/** Why a model does not take an image; null: it does. */
function unfit(image: PlacedImage, limit: ImageConfig): string | null {
  const bytes = bytesOfImage(image.part)
  if (!bytes) return unfitAddress(image, limit.hosts)
  const { size, header } = bytes
  if (size > limit.max_bytes) return `of ${size} bytes; the model takes ${limit.max_bytes} (images.max_bytes)`
  if (!header) return 'that is no PNG, JPEG, WebP or GIF: its first bytes are those of none'
  const pixels = header.width * header.height
  if (pixels === 0) return 'whose header does not say its width and height'
  if (pixels > limit.max_pixels)
    return `of ${header.width} x ${header.height} pixels; the model takes ${limit.max_pixels} (images.max_pixels)`
  return null
}

function unfitAddress(image: PlacedImage, hosts: readonly string[]): string | null {
  const address = addressOf(image.part.url ?? '')
  if (!address) return 'that is no address that servers fetch: paths and other schemes are never passed on'
  if (!isAsked(image))
    return 'whose address was not in the question; addresses in turns of the rollout and in results of tools are never passed on'
  if (address.username !== '' || address.password !== '') return 'whose address holds a user or a password'
  if (!hosts.includes(address.host)) return "whose address has a host that is not in the model's images.hosts"
  return null
}

/** An http(s) address as it is passed on; null for any other text. */
function addressOf(url: string): URL | null {
  if (url.length > longestAddress || !URL.canParse(url)) return null
  const address = new URL(url)
  return address.protocol === 'https:' || address.protocol === 'http:' ? address : null
}

const longestAddress = 8192

/** An image of the rows as it is sent. `imageFailure` was null. */
export function renderedImage(sha256: string, rows: Rows): RenderedImage {
  const known = found(
    rows.flatMap(({ sample }) => imagesOf(sample)),
    sha256,
  )
  if (!known) throw new Error('a question shows an image that its rows do not have')
  const { part } = known
  const { size } = part
  const shared = { sha256, size, tokens: tokensOfImage(part), ...detailOf(part) }
  const bytes = bytesOfImage(part)
  if (bytes?.header) return { ...shared, size: bytes.size, mediaType: bytes.header.type, bytes }
  // As this process read it, so that no other reader of the address finds another host in it.
  return { ...shared, url: addressOf(part.url ?? '')?.href ?? '' }
}

function detailOf({ detail }: ImagePart): Pick<RenderedImage, 'detail'> {
  return detail === 'auto' || detail === 'low' || detail === 'high' ? { detail } : {}
}

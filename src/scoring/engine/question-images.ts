/** The images of a question: whether it shows all that its rows have, whether its model takes them, and what is sent. */
import type { AskName, Asks, ChatPrompt, Prompt } from '../../contract/index.ts'
import { isDecision, isService, questionImages } from '../../contract/question.ts'
import { bytesOfImage, imagesOf, type PlacedImage, tokensOfImage } from '../../core/sample/image.ts'
import type { Failure, ImagePart } from '../../core/sample/sample.ts'
import type { CallRow } from '../functions/function-host.ts'
import { defaultImages, type ImageConfig } from '../models/interface/model-config.ts'
import type { RenderedImage } from '../models/interface/question-json.ts'
import type { PlanStep } from '../plan/plan.ts'
import { unseenPart } from './unseen.ts'

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
  if (asked.length === 0 && rows.every(isText)) return null
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

const isText = ({ sample: { prompt, turns } }: Rows[number]): boolean =>
  typeof prompt === 'string' && turns === undefined

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

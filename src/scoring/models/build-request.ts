/** What a question becomes for a model: its settings, its cache key, its size, and the request to a server. */
import { hash } from 'node:crypto'
import { decisionTexts } from '../../contract/decision.ts'
import type { AskName, Asks } from '../../contract/index.ts'
import { memoizeByObject } from '../../core/memoize.ts'
import type { QuestionWatch } from '../../core/stalls/request-times.ts'
import type { Trace } from '../../core/tracing/open-tracing.ts'
import { askingOf, type Backend, type Settings } from './backends/backend.ts'
import type { AnswerCache } from './dispatch/answer-cache.ts'
import type { Dispatcher, UpstreamRequest } from './dispatch/dispatch.ts'
import type { AskRequest, RenderedInput, Sampling } from './interface/ask.ts'
import type { ModelConfig } from './interface/model-config.ts'
import { ImageBody, isImage, RenderedMessage } from './interface/question-json.ts'
import type { GpuLease } from './memory/gpu-tenant.ts'
import { estimatedTokens, loadOf } from './pool/capacity.ts'
import { jsonOf } from './transport/reply.ts'

const mergedWith = memoizeByObject((config: ModelConfig) =>
  memoizeByObject((sampling: Sampling): Sampling => ({ ...(config.sampling as Sampling), ...sampling })),
)
const none: Sampling = {}

/** How a question is asked: the step's sampling over its model's. The merged object is cached per step. */
export const settingsOf = (config: ModelConfig, { sampling = none, reply, draw }: AskRequest): Settings => ({
  sampling: mergedWith(config)(sampling),
  reply,
  draw,
})

/** Cached JSON of objects that many questions share. */
const textOf = memoizeByObject((shared: object) => JSON.stringify(shared))

/**
 * The cache key of a question. `identity`: the model, its weights and how it is asked. Hashed, because the text is made of pieces
 * that may be parts of a response, and each part keeps its whole response in memory.
 */
export const keyOf = (
  { ask, key, draw }: AskRequest,
  { sampling, reply }: Settings,
  identity: string,
): string =>
  hash(
    'sha256',
    `${key} ${draw} ${ask} ${identity} ${textOf(sampling)} ${reply ? textOf(reply) : ''}`,
    'base64',
  )

/** Whether the answer is cached. Only generated text, and a service that does not say otherwise, can differ between calls. */
export function isCached(config: ModelConfig, ask: AskName, { sampling }: Settings): boolean {
  if (config.cache !== 'auto') return config.cache === 'always'
  if (ask === 'service') return config.service?.idempotent === true
  return ask !== 'generate' || sampling.temperature === 0
}

/** The parts of a model. `lease`: its lease on the GPU memory of its servers. */
export interface ModelParts {
  readonly dispatcher: Dispatcher
  readonly backend: Backend
  readonly headers: Record<string, string>
  readonly cache: AnswerCache
  readonly lease: GpuLease
}

/** A question with everything that its request needs. */
interface Question<A extends AskName> {
  readonly ask: A
  readonly input: RenderedInput[A]
  readonly settings: Settings
  readonly prefix: string
  readonly request: object
  readonly deadline: number
  readonly trace?: Trace | undefined
  readonly watch?: QuestionWatch | undefined
  /** Absent: a question with images is not hedged. */
  readonly hedgesImages?: boolean
}

/** The request for a single question. Throws UpstreamError if this kind of server does not support the ask. */
export function buildRequest<A extends AskName>(
  { backend, headers }: { readonly backend: Backend; readonly headers: Record<string, string> },
  { ask, input, settings, prefix, request, deadline, trace, watch, hedgesImages }: Question<A>,
): UpstreamRequest<Asks[A]['answer']> {
  const asking = askingOf(backend, ask)
  const { path, body } = asking.translate(ask, input, settings)
  const { isIdempotent = true } = backend
  return {
    ask,
    prefix,
    request,
    deadline,
    load: loadOf(body, 1, mostGenerated(ask, settings)),
    trace,
    watch,
    isHedged: isIdempotent && (!(body instanceof ImageBody) || hedgesImages === true),
    isIdempotent,
    message: { method: 'POST', path, headers, body },
    read: (reply) => asking.read(ask, jsonOf(ask, reply), input),
  }
}

/** The most tokens that may be generated for a question; 0 if unlimited or none. */
export function mostGenerated(ask: AskName, { sampling }: Settings): number {
  if (ask === 'choose' || ask === 'decide') return 1
  return ask === 'generate' ? (sampling.max_tokens ?? 0) : 0
}

/** Estimated tokens that a question adds to a call. */
export function tokensOf(ask: AskName, input: RenderedInput[AskName], settings: Settings): number {
  let bytes = 0
  for (const text of textsOf(ask, input)) bytes += Buffer.byteLength(text)
  return estimatedTokens(bytes) + mostGenerated(ask, settings)
}

/**
 * A batch saves a constant per text and costs the wait for the other prompts, which grows with their size. On an H200 it took
 * 0.4 ms less per text of 2 KB and 4.1 ms more per text of 24 KB; by interpolation, 4 KB breaks even.
 */
const shortBytes = 4096

/** The longest answer in tokens, since a batch waits for its longest one. */
const shortAnswer = 64

/** Whether question and answer are so short that batching is faster. */
export function isShort(
  ask: 'generate' | 'choose',
  input: RenderedInput['generate' | 'choose'],
  settings: Settings,
): boolean {
  const { sampling, reply } = settings
  const generated = mostGenerated(ask, settings)
  const isChoice = reply !== undefined && 'choice' in reply && sampling.thinking !== true
  if (!isChoice && (generated === 0 || generated > shortAnswer)) return false
  let bytes = 0
  for (const text of textsOf(ask, input)) {
    // A character has at least one byte, so a long text need not be measured.
    bytes += text.length > shortBytes ? text.length : Buffer.byteLength(text)
    if (bytes > shortBytes) return false
  }
  return true
}

function textsOf(ask: AskName, input: RenderedInput[AskName]): readonly string[] {
  if (ask === 'embed') return input as RenderedInput['embed']
  if (ask === 'service') return [(input as RenderedInput['service']).json]
  if (ask === 'decide') {
    const { about, asked } = input as RenderedInput['decide']
    return [...about.map(({ content }) => content), ...decisionTexts(asked)]
  }
  const question =
    ask === 'choose' ? (input as RenderedInput['choose']).question : (input as RenderedInput['generate'])
  return typeof question === 'string' ? [question] : question.map(({ content }) => content)
}

/** Memory of a question that is not serialized yet, without the texts that many questions share. */
export function bytesOfInput(input: RenderedInput[keyof RenderedInput]): number {
  if (typeof input === 'string') return 2 * input.length
  if ('about' in input) return bytesOfInput(input.about)
  if ('question' in input) return bytesOfInput(input.question)
  if ('json' in input) return 2 * input.json.length
  let characters = 0
  for (const part of input) {
    if (typeof part === 'string') characters += part.length
    else
      for (const piece of RenderedMessage.piecesOf(part))
        if (typeof piece === 'string') characters += piece.length
        else if (!isImage(piece) && typeof piece.json !== 'string') characters += piece.text.length
  }
  return 2 * characters
}

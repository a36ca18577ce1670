import { cyrb53 } from '../../core/hash.ts'
import {
  type Call,
  createdNow,
  type Endpoint,
  madeId,
  readNumberField,
  readTexts,
  requireModel,
} from '../call.ts'
import { lostScore } from '../completion.ts'
import { readMessages, renderChat, type Turn } from '../conversation.ts'
import { normal } from '../hash.ts'
import { JudgePrompt } from '../judge-prompt.ts'
import type { Admitted, SimulatedModel } from '../model.ts'
import { badRequest, Refusal } from '../refusal.ts'
import { confidence, textOfIds, tokenText, vocabularySize } from '../tokens.ts'
import { chooseLabel } from '../verdict-text.ts'
import { promptUsage } from './completions.ts'

/**
 * Hashes character trigrams into `dimensions` signed counts and normalises them, so that similar texts have
 * similar vectors.
 */
function embed(text: string, dimensions: number): number[] {
  const vector = new Array<number>(dimensions).fill(0)
  const padded = ` ${text.toLowerCase()} `
  for (let start = 0; start + 3 <= padded.length; start++) {
    const hash = cyrb53(padded.slice(start, start + 3))
    const place = hash % dimensions
    vector[place] = (vector[place] ?? 0) + (Math.floor(hash / dimensions) % 2 === 0 ? 1 : -1)
  }
  const length = Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0))
  return length === 0
    ? vector.map((_, index) => (index === 0 ? 1 : 0))
    : vector.map((value) => value / length)
}

/** The model's vector of a text: zeros if its weights are zero, noise if they are garbage. */
export function vectorOf(model: SimulatedModel, text: string, dimensions: number): number[] {
  if (model.weights === 'zero') return new Array<number>(dimensions).fill(0)
  return embed(model.weights === 'sound' ? text : String(cyrb53(text)), dimensions)
}

/** Cosine of two unit vectors. */
function similarity(a: readonly number[], b: readonly number[]): number {
  return a.reduce((sum, value, index) => sum + value * (b[index] ?? 0), 0)
}

/**
 * A scalar reward model's raw output: about 3 for right answers and -3 for wrong ones, plus noise from the
 * text.
 */
export function rawReward(model: SimulatedModel, text: string, turns?: readonly Turn[]): number {
  if (model.weights === 'zero') return 0
  if (model.weights === 'garbage') return 3 * normal(model.seed, 'garbage', text)
  const score = model.judge.score(new JudgePrompt(text, turns), { seed: model.seed, index: 0 })
  return 6 * ((score ?? 0.5) - 0.5) + 0.5 * normal(model.seed, 'raw', text)
}

/** vLLM's activation of a single output, unless `use_activation` is false. */
export function sigmoid(raw: number): number {
  return 1 / (1 + Math.exp(-raw))
}

/** The probability that each step is right, one per tag in the text. Low from the first wrong step on. */
export function stepRewards(model: SimulatedModel, text: string, tag: string): number[] {
  const pieces = text.split(tag)
  let isLost = false
  return pieces.slice(0, -1).map((_, index) => {
    const soFar = pieces.slice(0, index + 1).join('')
    isLost ||= rawReward(model, soFar) < -1
    const sure = 0.05 * sigmoid(normal(model.seed, 'step', soFar))
    return isLost ? 0.1 + sure : 0.9 + sure
  })
}

/** The prompts of a pooling request: `messages` (one conversation) or `input` (a text or a list of texts). */
export function pooledPrompts({ body }: Call): Pooled[] {
  if (body.messages === undefined) return readTexts(body.input, 'input').map((text) => ({ text }))
  const turns = readMessages(body.messages)
  if (!turns) throw badRequest('messages must be a list of turns', 'messages')
  return [{ text: renderChat(turns, body.add_generation_prompt === true), turns }]
}

/** A prompt of a pooling request, with the turns that it was rendered from. */
interface Pooled {
  readonly text: string
  readonly turns?: readonly Turn[]
}

/** Runs one pass per prompt. Throws Gone if nobody waits any more. */
export async function pass(call: Call, prompts: readonly Pooled[]): Promise<Admitted[]> {
  const admitted = prompts.map(({ text, turns }) => call.model.admit(text, turns))
  const finished = await Promise.all(
    admitted.map((one) => call.model.run(call, call.model.sequence(one, 0, call.slowdown, 0, 'stop'))),
  )
  if (finished.includes(false)) throw new Refusal(500, 'InternalServerError', 'The request was aborted.')
  return admitted
}

/** POST /v1/embeddings: lists of numbers, or base64 of 32-bit floats if `encoding_format` requests it. */
export const embeddings: Endpoint = async (call) => {
  requireModel(call)
  const { model, body } = call
  const dimensions = readNumberField(body, 'dimensions', model.options.dimensions ?? 256)
  const admitted = await pass(call, pooledPrompts(call))
  const data = admitted.map(({ text }, index) => {
    const vector = vectorOf(model, text, dimensions)
    const embedding =
      body.encoding_format === 'base64'
        ? Buffer.from(Float32Array.from(vector).buffer).toString('base64')
        : vector
    return { index, object: 'embedding', embedding }
  })
  const head = { id: madeId('embd'), object: 'list', created: createdNow(), model: model.name }
  return { json: { ...head, data, usage: promptUsage(admitted) } }
}

/** POST /score: a cross-encoder's score of each pair. A single left text is paired with every right text. */
export const score: Endpoint = async (call) => {
  requireModel(call)
  const { body, model } = call
  const left = readTexts(body.text_1 ?? body.queries ?? body.data_1, 'text_1')
  const right = readTexts(body.text_2 ?? body.documents ?? body.items ?? body.data_2, 'text_2')
  if (left.length !== 1 && left.length !== right.length) {
    throw badRequest('text_1 must have one text or as many as text_2', 'text_1')
  }
  const pairs = right.map((text, index): Pair => [left[left.length === 1 ? 0 : index] ?? '', text])
  const admitted = await pass(call, pairs.map(joined))
  const data = pairs.map((pair, index) => ({ index, object: 'score', score: relevance(call, pair) }))
  const head = { id: madeId('embd'), object: 'list', created: createdNow(), model: model.name }
  return { json: { ...head, data, usage: promptUsage(admitted) } }
}

/** POST /rerank, /v1/rerank, /v2/rerank: the `top_n` best documents (0: all), best first. */
export const rerank: Endpoint = async (call) => {
  requireModel(call)
  const { body, model } = call
  const [query = ''] = readTexts(body.query, 'query')
  const documents = readTexts(body.documents, 'documents')
  const most = readNumberField(body, 'top_n', 0) || documents.length
  const pairs = documents.map((text): Pair => [query, text])
  const admitted = await pass(call, pairs.map(joined))
  const results = pairs
    .map((pair, index) => ({ index, document: { text: pair[1] }, relevance_score: relevance(call, pair) }))
    .sort((a, b) => b.relevance_score - a.relevance_score)
    .slice(0, most)
  return { json: { id: madeId('rerank'), model: model.name, usage: promptUsage(admitted), results } }
}

type Pair = readonly [query: string, document: string]

function joined([query, document]: Pair): { text: string } {
  return { text: `${query}${document}` }
}

/** The policy's verdict on the document as an answer to the query, or else the similarity of the texts. */
function relevance({ model }: Call, [query, document]: Pair): number {
  if (model.weights !== 'sound') return lostScore(model, `${query}${document}`)
  const turns = [
    { role: 'user', content: query },
    { role: 'assistant', content: document },
  ]
  const verdict = model.judge.score(new JudgePrompt(`${query}\n${document}`, turns), {
    seed: model.seed,
    index: 0,
  })
  const alike = (similarity(embed(query, 256), embed(document, 256)) + 1) / 2
  return verdict === null ? alike : 0.8 * verdict + 0.2 * alike
}

/**
 * POST /generative_scoring, after vLLM's vllm/entrypoints/generate/generative_scoring: for each item, the
 * probability that the first of `label_token_ids` follows query + item.
 */
export const generativeScoring: Endpoint = async (call) => {
  requireModel(call)
  const { body, model } = call
  const prompts = readPrompts(body)
  const ids = readIds(body.label_token_ids)
  const admitted = await pass(
    call,
    prompts.map((text) => ({ text })),
  )
  const data = admitted.map(({ text }, index) => ({
    index,
    object: 'score',
    score: firstLabel(call, text, ids),
  }))
  const head = { id: madeId('generative-scoring'), object: 'list', created: createdNow(), model: model.name }
  return { json: { ...head, data, usage: promptUsage(admitted) } }
}

/** Query and items as texts, or both as token ids. */
function readPrompts({ query, items, item_first: itemFirst }: Call['body']): string[] {
  if (isIds(query) && Array.isArray(items) && items.every(isIds))
    return items.map((item) => textOfIds(itemFirst === true ? [...item, ...query] : [...query, ...item]))
  const [text = ''] = readTexts(query, 'query')
  return readTexts(items, 'items').map((item) => (itemFirst === true ? item + text : text + item))
}

const isIds = (value: unknown): value is number[] => Array.isArray(value) && value.every(Number.isInteger)

function readIds(value: unknown): number[] {
  if (!Array.isArray(value) || value.length === 0 || !value.every(Number.isInteger)) {
    throw badRequest('label_token_ids must contain at least one token ID.', 'label_token_ids')
  }
  const stranger = (value as number[]).find((id) => id < 0 || id >= vocabularySize)
  if (stranger === undefined) return value as number[]
  throw badRequest(
    `label_token_id ${stranger} is out of vocabulary range [0, ${vocabularySize}).`,
    'label_token_ids',
  )
}

/**
 * The other labels share what remains of the written label's probability. Without softmax, some goes to other
 * tokens.
 */
function firstLabel({ model, body }: Call, text: string, ids: readonly number[]): number {
  if (model.weights !== 'sound') return lostScore(model, text) / ids.length
  const labels = ids.map((id) => tokenText(id) ?? `token ${id}`)
  const opinion = model.judge.opinion(new JudgePrompt(text), { seed: model.seed, index: 0 })
  const chosen = typeof opinion === 'string' ? opinion.trim() : chooseLabel(labels, opinion).trim()
  const sure = labels.length === 1 ? 1 : confidence(text, model.seed)
  const share = labels[0]?.trim() === chosen ? sure : (1 - sure) / Math.max(1, labels.length - 1)
  return body.apply_softmax === false ? share * 0.97 : share
}

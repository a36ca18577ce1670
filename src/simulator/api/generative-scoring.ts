import { type Call, type Endpoint, readTexts, requireModel } from '../call.ts'
import { createdNow, madeId } from '../identity.ts'
import { JudgePrompt } from '../judge-prompt.ts'
import { confidence } from '../logprobs.ts'
import { lostScore } from '../lost-weights.ts'
import { badRequest } from '../refusal.ts'
import { textOfIds, tokenText, vocabularySize } from '../tokens.ts'
import { chooseLabel } from '../verdict-text.ts'
import { pass } from './pooled.ts'
import { promptUsage } from './usage.ts'

/**
 * POST /generative_scoring, after vLLM's vllm/entrypoints/generate/generative_scoring: the probability, for each item,
 * that the first of `label_token_ids` comes next after query + item.
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

/** What is left of the written label's probability is shared by the others; without softmax a little goes elsewhere. */
function firstLabel({ model, body }: Call, text: string, ids: readonly number[]): number {
  if (model.weights !== 'sound') return lostScore(model, text) / ids.length
  const labels = ids.map((id) => tokenText(id) ?? `token ${id}`)
  const opinion = model.judge.opinion(new JudgePrompt(text), { seed: model.seed, index: 0 })
  const chosen = typeof opinion === 'string' ? opinion.trim() : chooseLabel(labels, opinion).trim()
  const sure = labels.length === 1 ? 1 : confidence(text, model.seed)
  const share = labels[0]?.trim() === chosen ? sure : (1 - sure) / Math.max(1, labels.length - 1)
  return body.apply_softmax === false ? share * 0.97 : share
}

import { type Call, type Endpoint, readNumberField, readTexts, requireModel } from '../call.ts'
import { embed, similarity } from '../embedding.ts'
import { createdNow, madeId } from '../identity.ts'
import { JudgePrompt } from '../judge-prompt.ts'
import { lostScore } from '../lost-weights.ts'
import { badRequest } from '../refusal.ts'
import { pass } from './pooled.ts'
import { promptUsage } from './usage.ts'

/** POST /score: a cross-encoder's number for each pair; one text on the left goes with every text on the right. */
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

/** POST /rerank, /v1/rerank, /v2/rerank: best first, `top_n` of them (0: all). */
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

/** The policy's verdict on the document as an answer to the query; where it has none, how alike the texts are. */
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

import { type Call, createdNow, type Endpoint, madeId, requireModel } from '../call.ts'
import { textOfIds, tokenId } from '../tokens.ts'
import { promptUsage } from './completions.ts'
import { pass, pooledPrompts, rawReward, sigmoid, stepRewards } from './pooling.ts'
import { classifyText } from './sglang.ts'

/**
 * POST /classify in vLLM's form (`input`, `messages`) and SGLang's (`text`). A scalar reward model has one
 * class. `use_activation: false` returns its raw output.
 */
export const classify: Endpoint = async (call) => {
  if (call.body.text !== undefined) return classifyText(call)
  requireModel(call)
  const { model, body } = call
  const admitted = await pass(call, pooledPrompts(call))
  const data = admitted.map(({ text, turns }, index) => {
    const raw = rawReward(model, text, turns)
    const value = body.use_activation === false ? raw : sigmoid(raw)
    return { index, label: 'LABEL_0', probs: [value], num_classes: 1 }
  })
  const head = { id: madeId('classify'), object: 'list', created: createdNow(), model: model.name }
  return { json: { ...head, data, usage: promptUsage(admitted) } }
}

/** What Skywork's question has after each step. It is sent as ids, with the id of a line end in its place. */
const stepMark = '<|fim_pad|>'
const lineEnd = tokenId('\n')

/** Skywork's form of POST /pooling: ids of tokens, and a number for each, of which those at the ends of steps mean something. */
async function tokenRewards(call: Call, ids: readonly number[]): Promise<object> {
  const { model } = call
  const text = textOfIds(ids.map((id) => (id === lineEnd ? tokenId(stepMark) : id)))
  const admitted = await pass(call, [{ text }])
  const rewards = stepRewards(model, text, stepMark)
  const places = ids.flatMap((id, at) => (id === lineEnd ? [at] : [])).slice(-rewards.length || ids.length)
  const byPlace = new Map(places.map((place, at) => [place, rewards[at] ?? 0.5]))
  const data = ids.map((_, at) => {
    const right = byPlace.get(at) ?? 0.5
    return [call.body.use_activation === false ? Math.log(right / (1 - right)) : right]
  })
  const head = { id: madeId('pool'), object: 'list', created: createdNow(), model: model.name }
  return { ...head, data: [{ index: 0, object: 'pooling', data }], usage: promptUsage(admitted) }
}

/**
 * POST /pooling: one number per text. If the text has step tags, a pair [wrong, right] per tag. A list of token ids gets a
 * number per token.
 */
export const pooling: Endpoint = async (call) => {
  requireModel(call)
  const { input } = call.body
  if (Array.isArray(input) && input.length > 0 && input.every(Number.isInteger))
    return { json: await tokenRewards(call, input as number[]) }
  const { model, body } = call
  const tag = model.options.stepTag ?? '<extra_0>'
  const admitted = await pass(call, pooledPrompts(call))
  const data = admitted.map(({ text, turns }, index) => {
    const steps = text.includes(tag) ? stepRewards(model, text, tag).map((right) => [1 - right, right]) : null
    const raw = steps === null ? rawReward(model, text, turns) : 0
    const value = body.use_activation === false ? raw : sigmoid(raw)
    return { index, object: 'pooling', data: steps ?? [value] }
  })
  const head = { id: madeId('pool'), object: 'list', created: createdNow(), model: model.name }
  return { json: { ...head, data, usage: promptUsage(admitted) } }
}

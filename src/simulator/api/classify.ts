import { createdNow, type Endpoint, madeId, requireModel } from '../call.ts'
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

/** POST /pooling: one number per text. If the text has step tags, a pair [wrong, right] per tag. */
export const pooling: Endpoint = async (call) => {
  requireModel(call)
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

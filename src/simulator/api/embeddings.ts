import { type Endpoint, readNumberField, requireModel } from '../call.ts'
import { vectorOf } from '../embedding.ts'
import { createdNow, madeId } from '../identity.ts'
import { pass, pooledPrompts } from './pooled.ts'
import { promptUsage } from './usage.ts'

/** POST /v1/embeddings: lists of numbers, or base64 of 32-bit floats where `encoding_format` asks for it. */
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

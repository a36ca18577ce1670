import type { AskName, Asks, Reply } from '../../../contract/index.ts'
import type { RenderedInput } from '../interface/ask.ts'
import type { ModelConfig } from '../interface/model-config.ts'
import type { ParsedReply } from '../transport/reply.ts'
import { type JsonObject, malformedReply, objectOf } from '../transport/reply.ts'
import { UpstreamError } from '../transport/upstream-error.ts'
import type { Backend, Translation } from './backend.ts'
import { isTextAsk, textAsks } from './generated-text.ts'
import { isOneOf } from './model-name.ts'
import { openaiTexts, readVectors, samplingMembers } from './openai-dialect.ts'

/** Any OpenAI-compatible server. Has no scalar models; supports JSON schemas, but neither choice nor regex. */
export function openaiBackend(config: ModelConfig): Backend {
  const model = `{"model":${JSON.stringify(config.model)}`
  const names = [config.model, ...config.served_model_aliases]

  const checked = (value: unknown): JsonObject => {
    const body = objectOf(value)
    const { model } = body
    if (typeof model !== 'string') throw malformedReply('it names no model')
    if (!isOneOf(names, model)) throw malformedReply('it comes from another model')
    return body
  }

  const texts = textAsks(
    openaiTexts({
      model: config.model,
      members({ sampling, reply, draw }, isChat) {
        const { thinking: _thinking, top_k: _topK, min_p: _minP, ...known } = sampling
        return samplingMembers(known, draw, isChat) + (isChat ? responseFormat(reply) : '')
      },
      chatBatchPath: null,
      checked,
    }),
  )

  const embed = (texts: readonly unknown[]): Translation => ({
    path: '/v1/embeddings',
    body: `${model},"input":${JSON.stringify(texts)}}`,
  })

  return {
    healthPath: '',
    modelsPath: '/v1/models',
    namesModels: false,
    tokenCounters: [],
    queueMetrics: null,
    memory: null,
    generativeScoring: null,
    tokens: null,
    translate(ask, input, settings) {
      if (isTextAsk(ask)) return texts.translate(ask, input, settings)
      if (ask === 'embed') return embed(input as readonly string[])
      throw unknownAsk(ask)
    },
    read<A extends AskName>(ask: A, value: unknown, input: RenderedInput[A]) {
      if (isTextAsk(ask)) return texts.read(ask, value, input)
      const [reading] = readVectors(checked(value), [(input as readonly string[]).length])
      if (reading instanceof UpstreamError) throw reading
      return reading as ParsedReply<Asks[A]['answer']>
    },
    batchKey(ask, input, settings) {
      if (isTextAsk(ask)) return texts.batchKey(ask, input, settings)
      return ask === 'embed' ? '' : null
    },
    translateBatch: (ask, inputs, settings) =>
      isTextAsk(ask) ? texts.translateBatch(ask, inputs, settings) : embed(inputs.flat()),
    readBatch(ask, value, inputs) {
      if (isTextAsk(ask)) return texts.readBatch(ask, value, inputs)
      const counts = (inputs as readonly (readonly string[])[]).map(({ length }) => length)
      return readVectors(checked(value), counts)
    },
  }
}

const unknownAsk = (ask: AskName): UpstreamError =>
  new UpstreamError('judge_rejected', `the openai backend has no models for '${ask}'`, { remedy: 'give-up' })

/** Only JSON schemas are sent: for a choice or regex, the author's parser alone decides whether the reply is valid. */
const responseFormat = (reply: Reply | undefined): string =>
  reply && 'schema' in reply
    ? `,"response_format":${JSON.stringify({ type: 'json_schema', json_schema: { name: 'verdict', schema: reply.schema, strict: true } })}`
    : ''

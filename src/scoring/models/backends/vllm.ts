import type { AskName, Asks } from '../../../contract/index.ts'
import type { Rendered, RenderedInput } from '../interface/ask.ts'
import type { ModelConfig } from '../interface/model-config.ts'
import { bodyOf, imagesOfInput, questionJson } from '../interface/question-json.ts'
import type { ParsedReply } from '../transport/reply.ts'
import { isObject, type JsonObject, malformedReply, objectOf } from '../transport/reply.ts'
import { UpstreamError } from '../transport/upstream-error.ts'
import type { Backend, Translation } from './backend.ts'
import { isTextAsk, textAsks } from './generated-text.ts'
import type { Counts } from './openai-dialect.ts'
import {
  classItem,
  openaiTexts,
  readData,
  readVectors,
  samplingMembers,
  stepItem,
  structuredOutputs,
} from './openai-dialect.ts'
import { vllmMemory } from './vllm-memory.ts'

/** vLLM: its OpenAI endpoints, the pooling runner's /classify, /pooling and /score, and /tokenize. */
export function vllmBackend(config: ModelConfig): Backend {
  const model = `{"model":${JSON.stringify(config.model)}`
  const names = new Set([config.model, ...config.served_model_aliases])

  const checked = (value: unknown): JsonObject => {
    const body = objectOf(value)
    if (typeof body.model !== 'string') throw malformedReply('it names no model')
    if (!names.has(body.model)) throw malformedReply('it comes from another model')
    return body
  }

  const texts = textAsks(
    openaiTexts({
      model: config.model,
      members: ({ sampling, reply, draw }, isChat) =>
        samplingMembers(sampling, draw, isChat) + structuredOutputs(reply),
      chatBatchPath: '/v1/chat/completions/batch',
      checked,
    }),
  )

  const pooled = (ask: AskName, question: string): Translation => {
    const { path, members } = pooling(ask)
    return { path, body: `${model}${question}${members}}` }
  }

  const pooling = (ask: AskName): { readonly path: string; readonly members: string } => {
    const { endpoint, activation } = config.classify
    if (ask === 'embed') return { path: '/v1/embeddings', members: '' }
    if (ask === 'rewards') {
      const { task, activation } = config.rewards
      const more = JSON.stringify({ task, use_activation: activation }).slice(1, -1)
      return { path: '/pooling', members: more && `,${more}` }
    }
    // A Bradley-Terry model's score is the logit itself; by default, vLLM applies a sigmoid.
    return { path: `/${endpoint}`, members: `,"use_activation":${activation}` }
  }

  const readPooled = (ask: AskName, value: unknown, counts: Counts) =>
    ask === 'embed'
      ? readVectors(checked(value), counts)
      : readData(
          checked(value),
          counts,
          ask === 'rewards' ? stepItem(config.rewards.column) : classItem(config.classify.label),
        )

  const compared = (input: Rendered): readonly [string, string] => {
    const [last, before] = typeof input === 'string' ? [] : [input.at(-1), input.at(-2)]
    if (!last || !before)
      throw new UpstreamError('judge_rejected', '/score compares two messages, but the question has fewer', {
        remedy: 'give-up',
      })
    if (imagesOfInput(input).length > 0)
      throw new UpstreamError('judge_rejected', '/score compares texts, but the question has images', {
        remedy: 'give-up',
        blame: false,
      })
    return [before.content, last.content]
  }

  const isCompared = (ask: AskName): boolean => ask === 'classify' && config.classify.endpoint === 'score'

  return {
    healthPath: '/health',
    modelsPath: '/v1/models',
    namesModels: true,
    tokenCounters: ['vllm:generation_tokens_total'],
    queueMetrics: { running: 'vllm:num_requests_running', waiting: 'vllm:num_requests_waiting' },
    memory: vllmMemory,
    generativeScoring: checked,
    translate(ask, input, settings) {
      if (isTextAsk(ask)) return texts.translate(ask, input, settings)
      if (isCompared(ask)) return pooled(ask, pairs([compared(input as Rendered)]))
      const images = imagesOfInput(input)
      if (images.length > 0) {
        const { path, members } = pooling(ask)
        const parts = [model, ',"messages":', ...questionJson(input as Rendered), members, '}']
        return { path, body: bodyOf(parts, images) }
      }
      const isChat = ask !== 'embed' && typeof input !== 'string'
      return pooled(ask, `${isChat ? ',"messages":' : ',"input":'}${JSON.stringify(input)}`)
    },
    read<A extends AskName>(ask: A, value: unknown, input: RenderedInput[A]) {
      if (isTextAsk(ask)) return texts.read(ask, value, input)
      const [reading] = readPooled(ask, value, [countOf(ask, input)])
      if (reading instanceof UpstreamError) throw reading
      return reading as ParsedReply<Asks[A]['answer']>
    },
    batchKey(ask, input, settings) {
      if (isTextAsk(ask)) return texts.batchKey(ask, input, settings)
      if (isCompared(ask)) compared(input as Rendered)
      return isCompared(ask) || ask === 'embed' || typeof input === 'string' ? '' : null
    },
    translateBatch(ask, inputs, settings) {
      if (isTextAsk(ask)) return texts.translateBatch(ask, inputs, settings)
      if (isCompared(ask)) return pooled(ask, pairs((inputs as readonly Rendered[]).map(compared)))
      return pooled(ask, `,"input":${JSON.stringify(inputs.flat())}`)
    },
    readBatch(ask, value, inputs) {
      if (isTextAsk(ask)) return texts.readBatch(ask, value, inputs)
      const counts = inputs.map((input) => countOf(ask, input))
      return readPooled(ask, value, counts)
    },
    tokens: {
      translate: (input) => ({
        path: '/tokenize',
        body: `${model}${typeof input === 'string' ? ',"prompt":' : ',"messages":'}${JSON.stringify(input)}}`,
      }),
      read(body) {
        const count = isObject(body) ? body.count : null
        if (!Number.isSafeInteger(count)) throw malformedReply('no count of tokens')
        return count as number
      },
    },
  }
}

const countOf = (ask: AskName, input: RenderedInput[AskName]): number | 'one' =>
  ask === 'embed' ? (input as RenderedInput['embed']).length : 'one'

/** The two texts of each question, for /score. */
const pairs = (inputs: readonly (readonly [string, string])[]): string =>
  `,"text_1":${JSON.stringify(inputs.map(([one]) => one))},"text_2":${JSON.stringify(inputs.map(([, two]) => two))}`

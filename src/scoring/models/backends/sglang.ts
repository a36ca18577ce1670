import type { AskName, Asks } from '../../../contract/index.ts'
import type { Rendered, RenderedInput } from '../api/ask.ts'
import { chatText } from '../api/chat-template.ts'
import type { ModelConfig } from '../api/model-config.ts'
import type { ParsedReply } from '../transport/reply.ts'
import { malformedReply, objectOf } from '../transport/reply.ts'
import { UpstreamError } from '../transport/upstream-error.ts'
import type { Backend, Translation } from './backend.ts'
import { samplingMembers } from './openai-form.ts'
import { openaiTexts } from './openai-texts.ts'
import { readVectors } from './pooling-form.ts'
import { sglangMemory } from './sglang-memory.ts'
import { chatForm, nativeTexts, readRewards } from './sglang-native.ts'
import { isTextAsk, textAsks } from './text-asks.ts'

/**
 * SGLang's server. Plain prompts go to its native /generate, conversations to its OpenAI form, the texts of reward
 * models to /classify (docs.sglang.io, basic_usage: native_api, sampling_params, openai_api_completions).
 */
export function sglangBackend(config: ModelConfig): Backend {
  const model = `{"model":${JSON.stringify(config.model)}`

  const chats = openaiTexts({
    model: config.model,
    members({ sampling: { include_stop_str_in_output: keepsStop, ...sampling }, reply, draw }) {
      const kept = keepsStop === undefined ? '' : `,"no_stop_trim":${keepsStop}`
      return samplingMembers(sampling, draw, true) + kept + chatForm(reply)
    },
    chatBatchPath: null,
    checked: objectOf,
  })
  const formOf = (question: Rendered | undefined) => (typeof question === 'string' ? nativeTexts : chats)
  const texts = textAsks({
    translate: (question, settings) => formOf(question).translate(question, settings),
    read: (body, question) => formOf(question).read(body, question),
    kind: (question, settings) => formOf(question).kind(question, settings),
    translateAll: (questions, settings) => formOf(questions[0]).translateAll(questions, settings),
    readAll: (body, questions) => formOf(questions[0]).readAll(body, questions),
  })

  const write = config.chat_template === undefined ? null : chatText(config.chat_template)
  const plain = (question: Rendered): string => {
    if (typeof question === 'string') return question
    if (write) return write(question)
    throw new UpstreamError(
      'judge_rejected',
      "SGLang's reward models take plain text: the model's chat_template has to say how a conversation is written",
      { remedy: 'give-up', blame: false },
    )
  }

  const pooled = (ask: AskName, inputs: readonly RenderedInput[AskName][]): Translation => {
    if (ask === 'embed')
      return { path: '/v1/embeddings', body: `${model},"input":${JSON.stringify(inputs.flat())}}` }
    const texts = (inputs as readonly Rendered[]).map(plain)
    return { path: '/classify', body: `${model},"text":${JSON.stringify(texts)}}` }
  }

  const readPooled = (ask: AskName, value: unknown, inputs: readonly RenderedInput[AskName][]) => {
    if (ask !== 'embed') return readRewards(value, inputs.length, ask === 'classify')
    const counts = (inputs as readonly RenderedInput['embed'][]).map(({ length }) => length)
    return readVectors(objectOf(value), counts)
  }

  return {
    healthPath: '/health',
    modelsPath: '/v1/models',
    namesModels: true,
    // Where it runs with --enable-metrics.
    tokenCounters: ['sglang:generation_tokens_total'],
    line: { running: 'sglang:num_running_reqs', waiting: 'sglang:num_queue_reqs' },
    scoresLabels: null,
    memory: sglangMemory,
    translate(ask, input, settings) {
      if (isTextAsk(ask)) return texts.translate(ask, input, settings)
      return pooled(ask, [input])
    },
    read<A extends AskName>(ask: A, value: unknown, input: RenderedInput[A]) {
      if (isTextAsk(ask)) return texts.read(ask, value, input)
      const [reading] = readPooled(ask, value, [input])
      if (reading instanceof UpstreamError) throw reading
      return reading as ParsedReply<Asks[A]['answer']>
    },
    kind(ask, input, settings) {
      if (isTextAsk(ask)) return texts.kind(ask, input, settings)
      return ask === 'embed' || typeof input === 'string' || write ? '' : null
    },
    translateAll: (ask, inputs, settings) =>
      isTextAsk(ask) ? texts.translateAll(ask, inputs, settings) : pooled(ask, inputs),
    readAll: (ask, value, inputs) =>
      isTextAsk(ask) ? texts.readAll(ask, value, inputs) : readPooled(ask, value, inputs),
    tokens: {
      translate: (input) => ({
        path: '/tokenize',
        // A reward model's conversation is written here, any other by the server.
        body:
          typeof input === 'string' || write
            ? `${model},"prompt":${JSON.stringify(plain(input))}}`
            : `${model},"messages":${JSON.stringify(input)}}`,
      }),
      read(value) {
        const { count } = objectOf(value)
        if (!Number.isSafeInteger(count)) throw malformedReply('no count of tokens')
        return count as number
      },
    },
  }
}

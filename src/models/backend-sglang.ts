import type { AskName, Asks } from '../contract/index.ts'
import type { Backend, BatchInput, Settings, Translation } from './backend.ts'
import { choiceSettings, readChoice } from './choose.ts'
import { Fault } from './fault.ts'
import { bodyOf, questionJson } from './json-body.ts'
import type { ModelConfig } from './model-config.ts'
import type { Rendered, RenderedInput } from './models.ts'
import { readGeneration, samplingMembers } from './openai-form.ts'
import { readItems, vectorItem } from './pooling-form.ts'
import { garbled, isObject, objectOf } from './reply.ts'
import { chatForm, nativeGenerate, readNative, readRewards } from './sglang-native.ts'
import type { Reading } from './work.ts'

/**
 * SGLang's server. Plain prompts go to its native /generate, conversations to its OpenAI form, the texts of reward
 * models to /classify (docs.sglang.io, basic_usage: native_api, sampling_params, openai_api_completions).
 */
export function sglangBackend(config: ModelConfig): Backend {
  const model = `{"model":${JSON.stringify(config.model)}`

  const generate = (input: Rendered, settings: Settings): Translation => {
    if (typeof input === 'string') return nativeGenerate(input, settings)
    const { include_stop_str_in_output: keepsStop, ...sampling } = settings.sampling
    const kept = keepsStop === undefined ? '' : `,"no_stop_trim":${keepsStop}`
    const members = samplingMembers(sampling, settings.draw, true) + kept + chatForm(settings.reply)
    return {
      path: '/v1/chat/completions',
      body: bodyOf([model, ',"messages":', ...questionJson(input), members, '}']),
    }
  }

  const readText = (value: unknown, input: Rendered) =>
    typeof input === 'string' ? readNative(value) : readGeneration(objectOf(value), input)

  const pooled = (ask: AskName, texts: readonly unknown[]): Translation => {
    if (ask === 'embed') return { path: '/v1/embeddings', body: `${model},"input":${JSON.stringify(texts)}}` }
    if (isObject(texts[0]))
      throw new Fault('judge_rejected', "SGLang's reward models take plain text, not a conversation", {
        remedy: 'give-up',
      })
    return { path: '/classify', body: `${model},"text":${JSON.stringify(texts)}}` }
  }

  const readPooled = (ask: AskName, value: unknown, inputs: readonly BatchInput[]) =>
    ask === 'embed'
      ? readItems(
          objectOf(value),
          inputs.map(({ length }) => length),
          vectorItem,
        )
      : readRewards(value, inputs, ask === 'classify')

  return {
    healthPath: '/health',
    modelsPath: '/v1/models',
    batched(ask, input) {
      if (ask === 'generate' || ask === 'choose') return null
      return ask === 'embed' || typeof input === 'string' ? (input as BatchInput) : null
    },
    scoresLabels: null,
    // docs.sglang.io, advanced_features/sglang_for_rl: needs --enable-memory-saver.
    memory: {
      sleep: () => [{ path: '/release_memory_occupation', body: '{}' }],
      wake: () => [{ path: '/resume_memory_occupation', body: '{}' }],
    },
    translate(ask, input, settings) {
      if (ask === 'generate') return generate(input as Rendered, settings)
      if (ask === 'choose') {
        const { question } = input as RenderedInput['choose']
        return generate(question, choiceSettings(settings))
      }
      return pooled(ask, typeof input === 'string' ? [input] : (input as readonly unknown[]))
    },
    read<A extends AskName>(ask: A, value: unknown, input: RenderedInput[A]) {
      if (ask === 'generate') return readText(value, input as Rendered) as Reading<Asks[A]['answer']>
      if (ask === 'choose') {
        const { question, labels } = input as RenderedInput['choose']
        const reading = readText(value, question)
        return { ...reading, answer: readChoice(labels, reading.answer) as Asks[A]['answer'] }
      }
      const [reading] = readPooled(ask, value, [input as BatchInput])
      if (reading instanceof Fault) throw reading
      return reading as Reading<Asks[A]['answer']>
    },
    translateAll: (ask, inputs) => pooled(ask, inputs.flat()),
    readAll: readPooled,
    tokens: {
      translate: (input) => ({
        path: '/tokenize',
        body: `${model},"prompt":${JSON.stringify(textOf(input))}}`,
      }),
      read(value) {
        const { count } = objectOf(value)
        if (!Number.isSafeInteger(count)) throw garbled('no count of tokens')
        return count as number
      },
    },
  }
}

/** SGLang counts the tokens of text alone: a conversation's are counted without its template. */
const textOf = (input: Rendered): string =>
  typeof input === 'string' ? input : input.map(({ content }) => content).join('\n')

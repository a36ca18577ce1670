import type { AskName, Asks } from '../contract/index.ts'
import type { Backend, BatchInput, Settings, Translation } from './backend.ts'
import { choiceSettings, readChoice } from './choose.ts'
import { Fault } from './fault.ts'
import { bodyOf, questionJson } from './json-body.ts'
import type { ModelConfig } from './model-config.ts'
import type { Rendered, RenderedInput } from './models.ts'
import { readGeneration, samplingMembers, structuredOutputs } from './openai-form.ts'
import { classItem, readItems, stepItem, vectorItem } from './pooling-form.ts'
import { garbled, isObject, type JsonObject, objectOf } from './reply.ts'
import { vllmMemory } from './vllm-memory.ts'
import type { Reading } from './work.ts'

/** vLLM's server: its OpenAI endpoints; /classify, /pooling and /score of its pooling runner; /tokenize. */
export function vllmBackend(config: ModelConfig): Backend {
  const model = `{"model":${JSON.stringify(config.model)}`
  const names = new Set([config.model, ...config.reports_as])

  const checked = (value: unknown): JsonObject => {
    const body = objectOf(value)
    if (typeof body.model !== 'string') throw garbled('it names no model')
    if (!names.has(body.model)) throw garbled('it comes from another model')
    return body
  }

  const generate = (input: Rendered, { sampling, reply, draw }: Settings): Translation => {
    const chat = typeof input !== 'string'
    const members = samplingMembers(sampling, draw, chat) + structuredOutputs(reply)
    const name = chat ? ',"messages":' : ',"prompt":'
    const body = bodyOf([model, name, ...questionJson(input), members, '}'])
    return { path: chat ? '/v1/chat/completions' : '/v1/completions', body }
  }

  const pooled = (ask: AskName, question: string): Translation => {
    const { endpoint, activation } = config.classify
    if (ask === 'embed') return { path: '/v1/embeddings', body: `${model}${question}}` }
    if (ask === 'rewards') {
      const { task, activation } = config.rewards
      const more = JSON.stringify({ task, use_activation: activation }).slice(1, -1)
      return { path: '/pooling', body: `${model}${question}${more && `,${more}`}}` }
    }
    // A Bradley-Terry model's score is the logit itself: by default a sigmoid is laid over it.
    return { path: `/${endpoint}`, body: `${model}${question},"use_activation":${activation}}` }
  }

  const itemOf = (ask: AskName) =>
    ask === 'embed'
      ? vectorItem
      : ask === 'rewards'
        ? stepItem(config.rewards.column)
        : classItem(config.classify.label)

  const compared = (input: Rendered): readonly [string, string] => {
    const [last, before] = typeof input === 'string' ? [] : [input.at(-1), input.at(-2)]
    if (!last || !before)
      throw new Fault('judge_rejected', '/score compares two messages: the question holds fewer', {
        remedy: 'give-up',
      })
    return [before.content, last.content]
  }

  const isCompared = (ask: AskName): boolean => ask === 'classify' && config.classify.endpoint === 'score'

  return {
    healthPath: '/health',
    modelsPath: '/v1/models',
    batched(ask, input) {
      if (ask === 'generate' || ask === 'choose') return null
      if (isCompared(ask)) return compared(input as Rendered)
      return ask === 'embed' || typeof input === 'string' ? (input as BatchInput) : null
    },
    memory: vllmMemory,
    scoresLabels: checked,
    translate(ask, input, settings) {
      if (ask === 'generate') return generate(input as Rendered, settings)
      if (ask === 'choose') {
        const { question } = input as RenderedInput['choose']
        return generate(question, choiceSettings(settings))
      }
      if (isCompared(ask)) return pooled(ask, pairs([compared(input as Rendered)]))
      const isChat = ask !== 'embed' && typeof input !== 'string'
      return pooled(ask, `${isChat ? ',"messages":' : ',"input":'}${JSON.stringify(input)}`)
    },
    read<A extends AskName>(ask: A, value: unknown, input: RenderedInput[A]) {
      const body = checked(value)
      if (ask === 'generate') return readGeneration(body, input as Rendered) as Reading<Asks[A]['answer']>
      if (ask === 'choose') {
        const { question, labels } = input as RenderedInput['choose']
        const reading = readGeneration(body, question)
        return { ...reading, answer: readChoice(labels, reading.answer) as Asks[A]['answer'] }
      }
      const count = ask === 'embed' ? (input as readonly string[]).length : ('one' as const)
      const [reading] = readItems(body, [count], itemOf(ask))
      if (reading instanceof Fault) throw reading
      return reading as Reading<Asks[A]['answer']>
    },
    translateAll: (ask, inputs) =>
      pooled(ask, isCompared(ask) ? pairs(inputs) : `,"input":${JSON.stringify(inputs.flat())}`),
    readAll(ask, value, inputs: readonly BatchInput[]) {
      const counts = inputs.map((input) => (ask === 'embed' ? input.length : ('one' as const)))
      return readItems(checked(value), counts, itemOf(ask))
    },
    tokens: {
      translate: (input) => ({
        path: '/tokenize',
        body: `${model}${typeof input === 'string' ? ',"prompt":' : ',"messages":'}${JSON.stringify(input)}}`,
      }),
      read(body) {
        const count = isObject(body) ? body.count : null
        if (!Number.isSafeInteger(count)) throw garbled('no count of tokens')
        return count as number
      },
    },
  }
}

/** The two texts of each question, for /score. */
const pairs = (inputs: readonly BatchInput[]): string =>
  `,"text_1":${JSON.stringify(inputs.map(([one]) => one))},"text_2":${JSON.stringify(inputs.map(([, two]) => two))}`

import type { AskName, Asks, Reply } from '../contract/index.ts'
import type { Backend, BatchInput, Settings, Translation } from './backend.ts'
import { choiceSettings, readChoice } from './choose.ts'
import { Fault } from './fault.ts'
import { bodyOf, questionJson } from './json-body.ts'
import type { ModelConfig } from './model-config.ts'
import type { Rendered, RenderedInput } from './models.ts'
import { readGeneration, samplingMembers } from './openai-form.ts'
import { readItems, vectorItem } from './pooling-form.ts'
import { garbled, type JsonObject, objectOf } from './reply.ts'
import type { Reading } from './work.ts'

/** Any OpenAI-compatible server. It has no scalar models, and takes a JSON schema but no choice or regex. */
export function openaiBackend(config: ModelConfig): Backend {
  const model = `{"model":${JSON.stringify(config.model)}`
  // Such servers answer with a dated name, or without the provider's prefix.
  const names = [config.model, config.model.slice(config.model.lastIndexOf('/') + 1), ...config.reports_as]

  const checked = (value: unknown): JsonObject => {
    const body = objectOf(value)
    const { model } = body
    if (typeof model !== 'string') throw garbled('it names no model')
    if (!names.some((name) => model.includes(name))) throw garbled('it comes from another model')
    return body
  }

  const generate = (input: Rendered, { sampling, reply, draw }: Settings): Translation => {
    const chat = typeof input !== 'string'
    const { thinking: _thinking, top_k: _topK, min_p: _minP, ...known } = sampling
    const members = samplingMembers(known, draw, chat) + (chat ? responseFormat(reply) : '')
    const name = chat ? ',"messages":' : ',"prompt":'
    const body = bodyOf([model, name, ...questionJson(input), members, '}'])
    return { path: chat ? '/v1/chat/completions' : '/v1/completions', body }
  }

  const embed = (texts: readonly unknown[]): Translation => ({
    path: '/v1/embeddings',
    body: `${model},"input":${JSON.stringify(texts)}}`,
  })

  return {
    healthPath: '/v1/models',
    modelsPath: '',
    batched: (ask, input) => (ask === 'embed' ? (input as BatchInput) : null),
    memory: null,
    scoresLabels: null,
    tokens: null,
    translate(ask, input, settings) {
      if (ask === 'generate') return generate(input as Rendered, settings)
      if (ask === 'choose') {
        const { question } = input as RenderedInput['choose']
        return generate(question, choiceSettings(settings))
      }
      if (ask === 'embed') return embed(input as readonly string[])
      throw new Fault('judge_rejected', `the openai backend has no models for '${ask}'`, {
        remedy: 'give-up',
      })
    },
    read<A extends AskName>(ask: A, value: unknown, input: RenderedInput[A]) {
      const body = checked(value)
      if (ask === 'generate') return readGeneration(body, input as Rendered) as Reading<Asks[A]['answer']>
      if (ask === 'choose') {
        const { question, labels } = input as RenderedInput['choose']
        const reading = readGeneration(body, question)
        return { ...reading, answer: readChoice(labels, reading.answer) as Asks[A]['answer'] }
      }
      const [reading] = readItems(body, [(input as readonly string[]).length], vectorItem)
      if (reading instanceof Fault) throw reading
      return reading as Reading<Asks[A]['answer']>
    },
    translateAll: (_ask, inputs) => embed(inputs.flat()),
    readAll(_ask, value, inputs: readonly BatchInput[]) {
      const counts = inputs.map((input) => (typeof input === 'string' ? ('one' as const) : input.length))
      return readItems(checked(value), counts, vectorItem)
    },
  }
}

/** Where a reply cannot be forced into its form, the author's parser still decides what it says. */
const responseFormat = (reply: Reply | undefined): string =>
  reply && 'schema' in reply
    ? `,"response_format":${JSON.stringify({ type: 'json_schema', json_schema: { name: 'verdict', schema: reply.schema, strict: true } })}`
    : ''

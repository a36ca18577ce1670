import type { AskName, Asks } from '../contract/index.ts'
import type { Backend, Settings, Translation } from './backend.ts'
import type { Reading } from './dispatch.ts'
import { Fault } from './fault.ts'
import type { ModelConfig } from './model-config.ts'
import type { Rendered, RenderedInput } from './models.ts'
import { readGeneration, samplingMembers, structuredOutputs, usage } from './openai-form.ts'
import { garbled, isObject, type JsonObject } from './reply.ts'

/** vLLM's server: its OpenAI endpoints, and /classify and /pooling of its pooling runner. */
export function vllmBackend(config: ModelConfig): Backend {
  const model = `{"model":${JSON.stringify(config.model)}`
  const names = new Set([config.model, ...config.reports_as])

  const checkModel = (body: JsonObject): void => {
    const { model } = body
    if (typeof model !== 'string') throw garbled('it names no model')
    if (!names.has(model)) throw garbled('it comes from another model')
  }

  const generate = (input: Rendered, { sampling, reply, draw }: Settings): Translation => {
    const chat = typeof input !== 'string'
    const members = samplingMembers(sampling, draw, chat) + structuredOutputs(reply)
    const question = `${chat ? ',"messages":' : ',"prompt":'}${JSON.stringify(input)}`
    return { path: chat ? '/v1/chat/completions' : '/v1/completions', body: `${model}${question}${members}}` }
  }

  return {
    healthPath: '/health',
    modelsPath: '/v1/models',
    translate(ask, input, settings) {
      if (ask === 'generate') return generate(input as Rendered, settings)
      if (ask === 'embed')
        return { path: '/v1/embeddings', body: `${model},"input":${JSON.stringify(input)}}` }
      if (ask === 'classify') {
        const question = `${typeof input === 'string' ? ',"input":' : ',"messages":'}${JSON.stringify(input)}`
        // A Bradley-Terry model's score is the logit itself: without this a sigmoid is laid over it.
        return { path: '/classify', body: `${model}${question},"use_activation":false}` }
      }
      throw new Fault('judge_rejected', `this backend does not know the ask '${ask}'`, { remedy: 'give-up' })
    },
    read<A extends AskName>(ask: A, body: JsonObject, input: RenderedInput[A]) {
      checkModel(body)
      const reading =
        ask === 'generate'
          ? readGeneration(body, input as Rendered)
          : ask === 'classify'
            ? readClass(body)
            : readVectors(body, (input as readonly string[]).length)
      return reading as Reading<Asks[A]['answer']>
    },
  }
}

function readClass(body: JsonObject): Reading<number> {
  const [item] = items(body, 1)
  const { probs } = item ?? {}
  if (!isNumbers(probs) || probs.length !== 1) throw garbled('not one score')
  return { answer: probs[0] as number, ...usage(body) }
}

function readVectors(body: JsonObject, count: number): Reading<number[][]> {
  const answer = items(body, count).map(({ embedding }) => {
    if (!isNumbers(embedding) || embedding.length === 0) throw garbled('an embedding is not a vector')
    return embedding
  })
  return { answer, ...usage(body) }
}

const isNumbers = (value: unknown): value is number[] =>
  Array.isArray(value) && value.every((entry) => typeof entry === 'number' && Number.isFinite(entry))

/** The entries of `data`, in the order of what was asked. */
function items(body: JsonObject, count: number): JsonObject[] {
  const { data } = body
  if (!Array.isArray(data) || data.length !== count) throw garbled(`not ${count} entries`)
  const ordered: JsonObject[] = []
  for (const entry of data as unknown[]) {
    if (!isObject(entry)) throw garbled('an entry is not an object')
    const { index } = entry
    if (!Number.isInteger(index) || (index as number) < 0 || (index as number) >= count)
      throw garbled('an entry has no place')
    if (ordered[index as number]) throw garbled('two entries have one place')
    ordered[index as number] = entry
  }
  return ordered
}

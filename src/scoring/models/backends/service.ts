import type { Json } from '../../../core/sample/sample.ts'
import type { RenderedInput } from '../interface/ask.ts'
import type { ModelConfig } from '../interface/model-config.ts'
import { UpstreamError } from '../transport/upstream-error.ts'
import type { Backend } from './backend.ts'

/** Any HTTP service that takes JSON and answers JSON. The reward function says what the reply must hold. */
export function serviceBackend({ service }: ModelConfig): Backend {
  const { path, health, idempotent } = service ?? { path: '/', health: '', idempotent: false }
  return {
    healthPath: health,
    modelsPath: '',
    namesModels: false,
    tokenCounters: [],
    queueMetrics: null,
    memory: null,
    generativeScoring: null,
    tokens: null,
    ping: { method: 'GET', path: health, body: null },
    isIdempotent: idempotent,
    translate(ask, input) {
      if (ask !== 'service') throw unknownAsk
      return { path, body: (input as RenderedInput['service']).json }
    },
    read: (_ask, reply) => ({ answer: { reply: reply as Json } as never, prompt: 0, completion: 0 }),
    batchKey: () => null,
    translateBatch() {
      throw unknownAsk
    },
    readBatch() {
      throw unknownAsk
    },
  }
}

const unknownAsk = new UpstreamError('judge_rejected', 'a service answers no questions to models', {
  remedy: 'give-up',
  blame: false,
})

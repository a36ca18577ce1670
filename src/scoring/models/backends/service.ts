import type { ServiceRequest } from '../../../contract/index.ts'
import type { Json } from '../../../core/sample/sample.ts'
import type { RenderedInput } from '../interface/ask.ts'
import type { ModelConfig } from '../interface/model-config.ts'
import { UpstreamError } from '../transport/upstream-error.ts'
import type { Backend } from './backend.ts'
import { batchKeyOf, loneReply, ownReplies, sharedBody } from './service-batch.ts'

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
    read: (_ask, reply, input) => answered(loneReply(reply as Json, input as ServiceRequest)),
    batchKey: (_ask, input) => batchKeyOf(input as ServiceRequest),
    translateBatch: (_ask, inputs) => ({ path, body: sharedBody(inputs as readonly ServiceRequest[]) }),
    readBatch: (_ask, reply, inputs) =>
      ownReplies(reply as Json, inputs as readonly ServiceRequest[]).map((own) =>
        own instanceof UpstreamError ? own : answered(own),
      ),
  }
}

const answered = (reply: Json) => ({ answer: { reply } as never, prompt: 0, completion: 0 })

const unknownAsk = new UpstreamError('judge_rejected', 'a service answers no questions to models', {
  remedy: 'give-up',
  blame: false,
})

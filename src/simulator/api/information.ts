import type { Endpoint } from '../call.ts'
import { createdNow } from '../identity.ts'
import { metricsText } from '../metrics.ts'
import { healthGenerate } from './sglang-life.ts'

/** The version of vLLM whose replies these are modelled on. */
const modelledVersion = '0.32.0'

/** GET /health and /ping: an empty text; an SGLang has its model write a token first. */
export const health: Endpoint = (call) =>
  call.model.sglang.writesForHealth(call.path) ? healthGenerate(call) : { text: '' }

/** GET /version. */
export const version: Endpoint = () => ({ json: { version: modelledVersion } })

/** GET /load: requests in flight. */
export const load: Endpoint = ({ model }) => ({ json: { server_load: model.counters.inFlight } })

/** GET /metrics, in the text form of Prometheus. */
export const metrics: Endpoint = ({ model }) => ({
  text: metricsText(model),
  type: 'text/plain; version=1.0.0; charset=utf-8',
})

/** GET /v1/models. */
export const models: Endpoint = ({ model }) => ({
  json: {
    object: 'list',
    data: [
      {
        id: model.listedAs,
        object: 'model',
        created: createdNow(),
        owned_by: model.options.engine ?? 'vllm',
        root: model.path,
        parent: null,
        max_model_len: model.maxModelLen,
        permission: [],
      },
    ],
  },
})

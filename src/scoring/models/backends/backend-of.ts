import type { BackendName, ModelConfig } from '../interface/model-config.ts'
import type { Backend, BackendFactory } from './backend.ts'
import { decisionsOf } from './decide.ts'
import { openaiBackend } from './openai.ts'
import { serviceBackend } from './service.ts'
import { sglangBackend } from './sglang.ts'
import { vllmBackend } from './vllm.ts'

const backends: Readonly<Record<BackendName, BackendFactory>> = {
  vllm: vllmBackend,
  sglang: sglangBackend,
  openai: openaiBackend,
  service: serviceBackend,
}

/** The backend that a model's config names. */
export function backendOf(config: ModelConfig): Backend {
  const backend = backends[config.backend](config)
  return config.backend === 'service' ? backend : { ...backend, decisions: decisionsOf(backend, config) }
}

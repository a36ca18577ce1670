import type { BackendName, ModelConfig } from '../interface/model-config.ts'
import type { Backend, BackendFactory } from './backend.ts'
import { withDecisions } from './decide.ts'
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
export const backendOf = (config: ModelConfig): Backend =>
  config.backend === 'service'
    ? backends.service(config)
    : withDecisions(backends[config.backend](config), config)

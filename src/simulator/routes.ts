import { classify, pooling } from './api/classify.ts'
import { chatCompletions, chatCompletionsBatch, completions } from './api/completions.ts'
import { decisions, systemOne } from './api/decisions.ts'
import { health, load, metrics, models, tokenize, version } from './api/information.ts'
import {
  abortByIds,
  abortOne,
  collectiveRpc,
  continueGeneration,
  flushCache,
  healthGenerate,
  isSleeping,
  pauseGeneration,
  releaseMemory,
  resetPrefixCache,
  resumeMemory,
  sleep,
  updateWeightsFromDisk,
  wakeUp,
} from './api/life.ts'
import { embeddings, generativeScoring, rerank, score } from './api/pooling.ts'
import { ping, runCode } from './api/sandbox.ts'
import { verify } from './api/service.ts'
import { encode, generate, modelInfo, serverInfo } from './api/sglang.ts'
import type { Endpoint } from './call.ts'
import type { Runner } from './options.ts'

/** An endpoint. `runner`: the kind of model, or the servers of programs, that has it. If absent: every server. */
export interface Route {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly endpoint: Endpoint
  readonly runner?: Runner
  /** The server that has it. If absent: both. */
  readonly engine?: 'vllm' | 'sglang'
  /** True if it asks the model. Faults strike these paths by default. */
  readonly asksModel: boolean
  /** May generate a token. */
  readonly isProbe?: boolean
  /** An order to the simulator that no real server has. Answered in every state. */
  readonly isControl?: boolean
}

const asks = (runner: Runner, path: string, endpoint: Endpoint): Route => ({
  method: 'POST',
  path,
  endpoint,
  runner,
  asksModel: true,
})

const tells = (method: 'GET' | 'POST', path: string, endpoint: Endpoint): Route => ({
  method,
  path,
  endpoint,
  asksModel: false,
})

const probes = (path: string, endpoint: Endpoint): Route => ({
  ...tells('GET', path, endpoint),
  isProbe: true,
})

const vllm = (...own: readonly Route[]): Route[] => own.map((route) => ({ ...route, engine: 'vllm' }))

const sglang = (...own: readonly Route[]): Route[] => own.map((route) => ({ ...route, engine: 'sglang' }))

/** All endpoints of a simulated server, except its control paths. */
export const routes: readonly Route[] = [
  asks('generate', '/v1/chat/completions', chatCompletions),
  asks('generate', '/v1/completions', completions),
  asks('generate', '/v1/decisions', decisions),
  asks('generate', '/v1/systemone', systemOne),
  asks('pooling', '/v1/embeddings', embeddings),
  asks('pooling', '/classify', classify),
  asks('pooling', '/v1/score', score),
  asks('pooling', '/v1/rerank', rerank),
  asks('sandbox', '/run_code', runCode),
  { ...tells('GET', '/v1/ping', ping), runner: 'sandbox' },
  asks('service', '/verify', verify),
  asks('service', '/grade', verify),
  asks('service', '/api/check', verify),
  { ...probes('/docs', health), runner: 'service' },
  tells('POST', '/tokenize', tokenize),
  probes('/health', health),
  tells('GET', '/v1/models', models),
  tells('GET', '/metrics', metrics),
  ...vllm(
    asks('generate', '/v1/chat/completions/batch', chatCompletionsBatch),
    asks('pooling', '/v1/classify', classify),
    asks('pooling', '/pooling', pooling),
    asks('pooling', '/score', score),
    asks('pooling', '/rerank', rerank),
    asks('pooling', '/v2/rerank', rerank),
    asks('generate', '/generative_scoring', generativeScoring),
    tells('GET', '/ping', health),
    tells('GET', '/version', version),
    tells('GET', '/load', load),
    tells('POST', '/sleep', sleep),
    tells('POST', '/wake_up', wakeUp),
    tells('GET', '/is_sleeping', isSleeping),
    tells('POST', '/collective_rpc', collectiveRpc),
    tells('POST', '/abort_requests', abortByIds),
    tells('POST', '/reset_prefix_cache', resetPrefixCache),
  ),
  ...sglang(
    asks('generate', '/generate', generate),
    asks('pooling', '/encode', encode),
    tells('POST', '/abort_request', abortOne),
    probes('/health_generate', healthGenerate),
    tells('GET', '/get_model_info', modelInfo),
    tells('GET', '/model_info', modelInfo),
    tells('GET', '/get_server_info', serverInfo),
    tells('GET', '/server_info', serverInfo),
    tells('GET', '/flush_cache', flushCache),
    tells('POST', '/flush_cache', flushCache),
    tells('POST', '/pause_generation', pauseGeneration),
    tells('POST', '/continue_generation', continueGeneration),
    tells('POST', '/release_memory_occupation', releaseMemory),
    tells('POST', '/resume_memory_occupation', resumeMemory),
    tells('POST', '/update_weights_from_disk', updateWeightsFromDisk),
  ),
]

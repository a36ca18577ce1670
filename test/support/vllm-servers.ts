import type { Test } from 'tap'
import { startSimulatedServer } from '../../src/simulator/index.ts'

/** A server and the name of its model. */
export interface Served {
  readonly url: string
  readonly model: string
  /** False for a model of random weights: what it says means nothing. */
  readonly isSensible: boolean
}

/**
 * Simulated servers, or real ones: REWARD_GATEWAY_VLLM_GENERATE and REWARD_GATEWAY_VLLM_POOLING hold
 * `http://host:port#served-model-name`.
 */
export async function vllmServers(t: Test): Promise<{ generate: Served; pooling: Served }> {
  const server = async (runner: 'generate' | 'pooling', real: string | undefined): Promise<Served> => {
    if (real) {
      const [url = '', model = ''] = real.split('#')
      return { url, model, isSensible: false }
    }
    const model = `simulated-${runner}`
    const simulated = await startSimulatedServer({ runner, model, maxModelLen: 2048 })
    t.teardown(() => simulated.close())
    return { url: simulated.url, model, isSensible: true }
  }
  return {
    generate: await server('generate', process.env.REWARD_GATEWAY_VLLM_GENERATE),
    pooling: await server('pooling', process.env.REWARD_GATEWAY_VLLM_POOLING),
  }
}

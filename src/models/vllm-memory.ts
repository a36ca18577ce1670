import type { Backend } from './backend.ts'

/**
 * vLLM's sleep mode (docs.vllm.ai, features/sleep_mode; needs --enable-sleep-mode and VLLM_SERVER_DEV_MODE=1).
 * Level 2 drops the weights: they are read again between waking their memory and the cache's.
 */
export const vllmMemory: NonNullable<Backend['memory']> = {
  sleep: (level) => [{ path: `/sleep?level=${level}`, body: '' }],
  wake: (level) =>
    level === 1
      ? [{ path: '/wake_up', body: '' }]
      : [
          { path: '/wake_up?tags=weights', body: '' },
          { path: '/collective_rpc', body: '{"method":"reload_weights"}' },
          { path: '/wake_up?tags=kv_cache', body: '' },
        ],
}
